//! A process that corehop started: watched, and ended with whatever it started itself.
//!
//! It leads a process group of its own, so that a Ctrl-C at the terminal reaches corehop alone,
//! which first finishes what it is at, and so that its children are ended with it.

use rustix::process::{Pid, Signal, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a process may take to end after SIGTERM before it is killed.
pub const GRACE: Duration = Duration::from_secs(20);

/// What SIGXFSZ did when corehop was started, and does in what it starts.
static BEYOND_FILE_LIMIT: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Has a write beyond the limit on file sizes (`ulimit -f`) fail as on a full disk; else the signal
/// would kill this process. To be called before there are other threads.
pub fn fail_writes_beyond_file_limit() {
    // SAFETY: to ignore a signal needs no handler to stay valid.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before != libc::SIG_ERR {
        BEYOND_FILE_LIMIT.store(before, Ordering::Relaxed);
    }
}

/// Has the kernel kill what the command starts when this process ends, however it ends.
pub fn end_with_this_process(command: &mut Command) {
    let end_with_parent = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec it makes one system call and nothing else.
    unsafe { command.pre_exec(end_with_parent) };
}

/// A running process. Dropping it kills it.
pub struct Process {
    child: Child,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts the command.
    pub fn spawn(command: &mut Command) -> std::io::Result<Process> {
        let action = BEYOND_FILE_LIMIT.load(Ordering::Relaxed);
        let as_before = move || {
            // SAFETY: `action` was this process's own before its program began: no handler.
            match unsafe { libc::signal(libc::SIGXFSZ, action) } {
                libc::SIG_ERR => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            }
        };
        // SAFETY: between fork and exec only signal() is called, which is async-signal-safe.
        unsafe { command.pre_exec(as_before) };
        let child = command.process_group(0).spawn()?;
        Ok(Process {
            child,
            status: None,
        })
    }

    /// Its number, which is its group's too.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Asks it to end and waits until it has, killing it after a while, or at once when `hurry`
    /// says so.
    pub fn end(&mut self, hurry: impl Fn() -> bool) {
        self.ask_to_end();
        let deadline = Instant::now() + GRACE;
        while self.ended().is_none() {
            if hurry() || Instant::now() >= deadline {
                self.kill();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Children that it has left behind.
        self.signal(Signal::KILL);
    }

    /// Asks it and its group to end.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills it and its group.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.status = self.child.wait().ok();
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.kill();
        }
    }
}
