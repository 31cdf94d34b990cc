//! A process between corehop and a server that becomes the parent of all orphans of the server.
//!
//! A server that goes into the background leaves the process that was started, its group and its
//! session. The kernel gives such orphans to the nearest ancestor that requests them
//! (PR_SET_CHILD_SUBREAPER). If that were corehop itself, it would also get orphans of the load. So
//! it is a fork of corehop that starts nothing else. It ends when the last orphan has ended, with
//! the server's status. If corehop is killed, it kills them all.
//!
//! It is forked from a process that may have other threads, so it only makes system calls: it
//! neither allocates nor panics.

use libc::{c_int, pid_t};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signal that the kernel sends to the keeper when corehop ends.
const ORPHANED: c_int = libc::SIGTERM;

/// Open files beyond this number are not expected.
const MOST_FILES: c_int = 65_536;

/// When a program counts as ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When the process that was started has ended.
    First,
    /// When its last descendant has ended, if the process that was started succeeded: for a server
    /// in the background.
    All,
}

/// Adds a keeper to the command; to its starter, the keeper appears as the command.
pub(crate) fn keep(command: &mut Command, until: Until) {
    let starter = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: between fork and exec it only makes system calls.
    unsafe { command.pre_exec(move || become_keeper(starter, until)) };
}

/// Turns the process into a keeper; returns only in its child, which becomes the program.
fn become_keeper(starter: pid_t, until: Until) -> io::Result<()> {
    // SAFETY: the arguments of each call are valid and on the stack, and all calls are
    // async-signal-safe.
    unsafe {
        let (mut heeded, mut before) = (all_signals(), all_signals());
        check(libc::sigprocmask(
            libc::SIG_BLOCK,
            heeded.as_ptr(),
            before.as_mut_ptr(),
        ))?;
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        check(libc::prctl(libc::PR_SET_PDEATHSIG, ORPHANED, 0, 0, 0))?;
        let first = check(libc::fork())?;
        if first == 0 {
            // It is no longer in the terminal's foreground group.
            check(libc::setpgid(0, 0))?;
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            check(libc::sigprocmask(
                libc::SIG_SETMASK,
                before.as_ptr(),
                std::ptr::null_mut(),
            ))?;
            return Ok(());
        }
        // The starter waits for the end of a pipe, which exec would close.
        close_all();
        libc::sigemptyset(heeded.as_mut_ptr());
        libc::sigaddset(heeded.as_mut_ptr(), libc::SIGCHLD);
        libc::sigaddset(heeded.as_mut_ptr(), ORPHANED);
        let mut kept = Kept::new(first, until);
        loop {
            kept.reap(libc::WNOHANG);
            if kept.is_over() || libc::getppid() != starter {
                kept.end_all();
            }
            libc::sigwaitinfo(heeded.as_ptr(), std::ptr::null_mut());
        }
    }
}

/// The keeper's state of the server.
struct Kept {
    first: pid_t,
    until: Until,
    /// The status of the process that was started, and of the one that ended last.
    first_status: Option<c_int>,
    last_status: c_int,
}

impl Kept {
    fn new(first: pid_t, until: Until) -> Kept {
        Kept {
            first,
            until,
            first_status: None,
            last_status: 0,
        }
    }

    /// Returns whether the remaining processes must end. A process that goes into the background
    /// ends successfully.
    fn is_over(&self) -> bool {
        let is_last = self.until == Until::First;
        self.first_status
            .is_some_and(|status| status != 0 || is_last)
    }

    /// Reaps the children that have ended; `how` determines whether it waits for one. If none is
    /// left, it ends this process.
    fn reap(&mut self, how: c_int) {
        let mut status = 0;
        loop {
            // SAFETY: the status is on the stack.
            match unsafe { libc::waitpid(-1, &raw mut status, how) } {
                0 => return,
                -1 if errno() == libc::EINTR => {}
                -1 => self.end(),
                child => {
                    self.last_status = status;
                    if child == self.first {
                        self.first_status = Some(status);
                    }
                    if how == 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Kills all remaining processes and their orphans, and ends.
    fn end_all(&mut self) -> ! {
        loop {
            kill_children();
            self.reap(0);
        }
    }

    /// Ends this process with the server's status: that of the first process or, if it succeeded
    /// and left others, that of the last one.
    fn end(&self) -> ! {
        let first = self.first_status.unwrap_or(libc::SIGKILL);
        let status = match first {
            0 if self.until == Until::All => self.last_status,
            first => first,
        };
        // SAFETY: no state of this process is used any more.
        unsafe {
            if libc::WIFSIGNALED(status) {
                let number = libc::WTERMSIG(status);
                let none = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                libc::signal(number, libc::SIG_DFL);
                libc::kill(libc::getpid(), number);
                let mut others = all_signals();
                libc::sigdelset(others.as_mut_ptr(), number);
                libc::sigprocmask(libc::SIG_SETMASK, others.as_ptr(), std::ptr::null_mut());
            }
            libc::_exit(libc::WEXITSTATUS(status))
        }
    }
}

fn close_all() {
    // SAFETY: no file is used any more.
    unsafe {
        // This call does not exist before Linux 5.9 and in some containers.
        if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) != 0 {
            for file in 0..MOST_FILES {
                libc::close(file);
            }
        }
    }
}

/// Kills this process's children that one read of the list returns.
fn kill_children() {
    let mut list = [0_u8; 4096];
    // SAFETY: the path ends with a zero byte, and the length of the list is correct.
    let length = unsafe {
        let file = libc::open(
            c"/proc/thread-self/children".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        let length = libc::read(file, list.as_mut_ptr().cast(), list.len());
        libc::close(file);
        length
    };
    for child in numbers(
        list.get(..usize::try_from(length).unwrap_or(0))
            .unwrap_or(&[]),
    ) {
        // SAFETY: only its own child has this number, and nobody else reaps it.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
}

/// Parses the numbers of a list that are followed by a space: the last one may be truncated.
fn numbers(list: &[u8]) -> impl Iterator<Item = pid_t> {
    let mut number = 0;
    list.iter().filter_map(move |&byte| match byte {
        b'0'..=b'9' => {
            number = 10 * number + pid_t::from(byte - b'0');
            None
        }
        _ => Some(std::mem::take(&mut number)).filter(|&number| number > 0),
    })
}

fn all_signals() -> MaybeUninit<libc::sigset_t> {
    let mut all = MaybeUninit::uninit();
    // SAFETY: the call writes the whole set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    all
}

fn check(result: c_int) -> io::Result<c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

fn errno() -> c_int {
    // SAFETY: it points to this thread's own number.
    unsafe { *libc::__errno_location() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_cut_is_none() {
        let of = |list: &[u8]| numbers(list).collect::<Vec<_>>();
        assert_eq!(of(b""), []);
        assert_eq!(of(b"7 12 345 "), [7, 12, 345]);
        assert_eq!(of(b"7 12 34"), [7, 12]);
    }
}
