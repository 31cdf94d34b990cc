//! `corehop profile --interactive` in a pseudo terminal: it draws, reacts to keys and to the
//! window's size, and restores the terminal on every exit.

use crate::server;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use vt100::Screen;

/// For how many seconds to wait for a change of the screen before the test fails.
const PATIENCE: i64 = 120;

/// A pseudo terminal with corehop in it.
struct Terminal {
    controller: OwnedFd,
    child: Child,
    screen: vt100::Parser,
    /// The modes before corehop started.
    before: Termios,
    _folder: TempDir,
}

/// Rows and columns.
type Size = (u16, u16);

const SIZE: Size = (24, 100);

fn resize(controller: &OwnedFd, (rows, columns): Size) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(controller, size).unwrap();
}

fn size((rows, columns): Size) -> [NonZeroU16; 2] {
    [rows, columns].map(|of| NonZeroU16::new(of).unwrap())
}

/// Opens a pseudo terminal: both of its ends, the controller first.
pub fn pseudo_terminal() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (controller, terminal)
}

impl Terminal {
    /// Starts corehop, and waits for the table.
    fn start() -> Terminal {
        let folder = tempfile::tempdir().unwrap();
        server::record(&folder.path().join("bank.trace")).unwrap();
        let (controller, terminal) = pseudo_terminal();
        resize(&controller, SIZE);
        let end = || Stdio::from(terminal.try_clone().unwrap());
        // `setsid` of util-linux makes it the controlling terminal, which changes of size signal.
        let mut command = Command::new("setsid");
        command.args(["--ctty", env!("CARGO_BIN_EXE_corehop"), "profile"]);
        command.args(["bank.trace", "--interactive"]);
        command.current_dir(folder.path()).env("TERM", "xterm");
        let before = tcgetattr(&controller).unwrap();
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn();
        let [rows, columns] = size(SIZE);
        let mut terminal = Terminal {
            controller,
            child: child.unwrap(),
            screen: vt100::Parser::new(rows, columns, 0),
            before,
            _folder: folder,
        };
        terminal.wait_for("row 1 of 6  ?: keys  q: quit");
        assert!(terminal.screen.screen().alternate_screen());
        terminal
    }

    /// Reads what corehop prints until the screen has a text.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        while !self.screen.screen().contents().contains(text) {
            let contents = self.screen.screen().contents();
            assert!(self.read(), "it ended without {text:?}: {contents}");
        }
    }

    /// Reads some output; returns false at its end.
    #[track_caller]
    fn read(&mut self) -> bool {
        let mut ready = [PollFd::new(&self.controller, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: PATIENCE,
            tv_nsec: 0,
        };
        let ready = poll(&mut ready, Some(&patience)).unwrap();
        assert!(
            ready > 0,
            "nothing more: {}",
            self.screen.screen().contents()
        );
        let mut bytes = [0; 4096];
        // The controller fails as soon as nobody has the terminal open.
        let count = rustix::io::read(&self.controller, &mut bytes).unwrap_or(0);
        self.screen.process(&bytes[..count]);
        count > 0
    }

    fn press(&mut self, keys: &str) {
        let written = rustix::io::write(&self.controller, keys.as_bytes()).unwrap();
        assert_eq!(written, keys.len());
    }

    fn resize(&mut self, to: Size) {
        let [rows, columns] = size(to);
        self.screen.screen_mut().set_size(rows, columns);
        resize(&self.controller, to);
    }

    /// Reads the rest, and checks that the terminal is as before. Returns the exit code and the
    /// screen.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, Screen) {
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        let screen = self.screen.screen().clone();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        let after = tcgetattr(&self.controller).unwrap();
        let modes = |of: &Termios| (of.input_modes, of.output_modes, of.local_modes);
        assert_eq!(modes(&after), modes(&self.before));
        (code, screen)
    }
}

#[test]
fn keys_walk_through_functions_lines_and_objects() {
    let mut terminal = Terminal::start();
    terminal.wait_for("by function, in all; causes of L2 misses");
    terminal.press("/commit\r");
    terminal.wait_for("row 1 of 1 with commit");
    terminal.press("\r");
    terminal.wait_for("by source line, in all; causes of L2 misses, of commit");
    terminal.press("\r");
    terminal.wait_for("by object in memory, in all; causes of L2 misses, of commit > commit+0x0");
    terminal.wait_for("code of server");
    terminal.press("s");
    terminal.wait_for("causes of L3 misses");
    terminal.press("?");
    terminal.wait_for("sort by the next column");
    terminal.press("x\u{7f}\u{7f}");
    terminal.wait_for("by function, in all; causes of L3 misses");
    terminal.press("q");
    let (code, screen) = terminal.end();
    assert_eq!((code, screen.contents().trim()), (Some(0), ""));
}

#[test]
fn it_follows_the_size_of_the_window() {
    let mut terminal = Terminal::start();
    terminal.resize((3, 10));
    terminal.wait_for("row 1 of 6");
    terminal.press("\u{1b}[B");
    terminal.wait_for("row 2 of 6");
    terminal.resize((8, 60));
    terminal.wait_for("row 2 of 6  ?: keys  q: quit");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn signals_and_control_c_restore_the_terminal() {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let mut terminal = Terminal::start();
        match signal {
            None => terminal.press("\u{3}"),
            Some(signal) => {
                let process = Pid::from_raw(terminal.child.id() as i32).unwrap();
                kill_process(process, signal).unwrap();
            }
        }
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(130));
        let message = "corehop: interrupted; the terminal is restored";
        assert!(screen.contents().contains(message), "{}", screen.contents());
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let Terminal {
        controller,
        mut child,
        ..
    } = Terminal::start();
    // As if the window was closed.
    drop(controller);
    assert!(!child.wait().unwrap().success());
}

#[test]
fn without_a_terminal_it_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let output = command
        .args(["profile", "--interactive"])
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("--interactive: standard input is no terminal"),
        "{error}"
    );
    assert!(error.contains("remedy: leave --interactive out"), "{error}");
}
