//! A process that corehop started: watches it, and ends it with its children.
//!
//! It leads its own process group. So a Ctrl-C at the terminal reaches only corehop, which first
//! finishes its current work, and its children are ended with it.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Maximum time for a process to end after SIGTERM before it is killed.
pub const GRACE: Duration = Duration::from_secs(20);

/// Interval between looks whether an end has become urgent.
const HURRY_WITHIN: Duration = Duration::from_millis(5);

/// Interval between checks whether a process has ended, where the kernel cannot tell it.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The action of SIGXFSZ when corehop was started, which is restored in its children.
static BEYOND_FILE_LIMIT: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Makes a write beyond the limit on file sizes (`ulimit -f`) fail as on a full disk; otherwise the
/// signal would kill this process. Must be called before other threads exist.
pub fn fail_writes_beyond_file_limit() {
    // SAFETY: ignoring a signal needs no handler.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before != libc::SIG_ERR {
        BEYOND_FILE_LIMIT.store(before, Ordering::Relaxed);
    }
}

/// Makes the kernel kill the command's process when this process ends, however it ends.
pub fn end_with_this_process(command: &mut Command) {
    let end_with_parent = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec it makes only one system call.
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
            // SAFETY: `action` was set before this process's program began, so it is not a handler.
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

    /// Returns its process id, which is also its group's.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its exit status; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Waits until it has ended, at most for this time. Meanwhile this process sleeps: looking
    /// every millisecond would take CPUs from the program, and in a measurement only from busy
    /// ones.
    pub fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        if self.ended().is_none() {
            let id = Pid::from_raw(self.child.id().cast_signed());
            let file = id.and_then(|id| pidfd_open(id, PidfdFlags::empty()).ok());
            match (file, limit.try_into()) {
                (Some(file), Ok(limit)) => {
                    let mut files = [PollFd::new(&file, PollFlags::IN)];
                    // A signal ends the wait early, and the caller looks for it.
                    let _ = poll(&mut files, Some(&limit));
                }
                // Linux before 5.3, or a filter.
                _ => std::thread::sleep(limit.min(LOOK_EVERY)),
            }
        }
        self.ended()
    }

    /// Sends SIGTERM and waits until it has ended; kills it after [`GRACE`], or at once if `hurry`
    /// returns true.
    pub fn end(&mut self, hurry: impl Fn() -> bool) {
        self.ask_to_end();
        let deadline = Instant::now() + GRACE;
        while self.ended().is_none() {
            if hurry() || Instant::now() >= deadline {
                self.kill();
                return;
            }
            self.ended_within(HURRY_WITHIN);
        }
        // Remaining children.
        self.signal(Signal::KILL);
    }

    /// Sends SIGTERM to it and its group.
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
