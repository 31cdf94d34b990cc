//! `corehop profile --interactive`: functions, their lines, and a line's objects in a terminal.
//!
//! `browser` holds what is shown and reacts to keys, and `screen` draws it. This file owns the
//! terminal, which it restores on every exit: a key, a failure, a signal, or a panic. It ends with
//! the terminal.

mod browser;
mod screen;
#[cfg(test)]
mod tests;

use super::text::Table;
use crate::failure::{Exit, Failure};
use crate::terminal::interrupt;
use browser::{Browser, Reaction};
use corehop_profile::Nested;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, IsTerminal};
use std::time::Duration;

/// How often signals are checked while no key is pressed.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Whether both ends of a terminal are there.
pub fn check() -> Result<(), Failure> {
    let ends = [
        ("standard input", io::stdin().is_terminal()),
        ("standard output", io::stdout().is_terminal()),
    ];
    match ends.into_iter().find(|(_, is_terminal)| !is_terminal) {
        None => Ok(()),
        Some((which, _)) => {
            let message = format!("--interactive: {which} is no terminal");
            Err(Failure::new(Exit::Usage, message)
                .remedy("leave --interactive out: --by function,line,object prints tables"))
        }
    }
}

/// Restores the terminal when dropped. After a panic, the panic hook of ratatui has restored it
/// before it printed its message.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Nothing is left to try if the terminal is gone.
            let _ = ratatui::try_restore();
        }
    }
}

/// Shows functions until the user quits.
pub fn run(functions: &[Nested], table: &Table<'_>) -> Result<(), Failure> {
    // Before the terminal changes, so that no signal leaves it changed.
    interrupt::listen()?;
    let _restored = Restored;
    let mut terminal = ratatui::try_init().map_err(|error| failed(&error))?;
    let mut browser = Browser::new(functions, table);
    loop {
        let drawn = terminal.draw(|frame| screen::draw(frame, &mut browser));
        drawn.map_err(|error| failed(&error))?;
        interrupt::heed("the terminal is restored")?;
        wait().map_err(|error| failed(&error))?;
        while event::poll(Duration::ZERO).map_err(|error| failed(&error))? {
            let Event::Key(key) = event::read().map_err(|error| failed(&error))? else {
                continue;
            };
            // In raw mode, the terminal sends no signal for it.
            if is_control_c(key) {
                return Err(interrupt::failure("the terminal is restored"));
            }
            if key.kind != KeyEventKind::Release && browser.press(key.code) == Reaction::Quit {
                return Ok(());
            }
        }
    }
}

/// Waits for a key, a change of the window, or a tick. Fails if the terminal is gone, for crossterm
/// would then read it in an endless loop.
fn wait() -> io::Result<()> {
    let input = io::stdin();
    let mut ends = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut ends, Some(&TICK)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let is_gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    match ends[0].revents().intersects(is_gone) {
        true => Err(io::Error::other("it is gone")),
        false => Ok(()),
    }
}

fn is_control_c(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn failed(error: &io::Error) -> Failure {
    Failure::new(
        Exit::Output,
        format!("--interactive: the terminal: {error}"),
    )
    .remedy("leave --interactive out: --by function,line,object prints tables")
}
