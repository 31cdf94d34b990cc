//! Operations that the `carrier` backend does not support, as far as they are known before a
//! program runs.
//!
//! The runtime reacts when the program performs one of them (`runtime/interpose/`): it ends all
//! hops, leaves them to `affinity`, or keeps the calling thread on its own host thread permanently.
//! Properties that the runtime detects at the start (the processor, libc's restartable sequences)
//! are not listed here. Some operations keep a thread on its host thread only if there are other
//! threads. These are not listed either, because no call shows whether there are any. Tests of the
//! patcher compare each row with the runtime.

use Effect::{Refuses, StaysHome};

/// The consequence for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The backend refuses the program as a whole.
    Refuses,
    /// The thread that performs it, or that it affects, stays on its own host thread permanently.
    StaysHome,
}

/// Whether a call with these arguments performs the operation.
type Means = fn([u64; 2]) -> bool;

/// One unsupported operation.
#[derive(Debug)]
pub struct Row {
    /// Description, as the end of a sentence.
    pub reason: &'static str,
    /// The consequence.
    pub effect: Effect,
    /// The system calls that perform it: their x86-64 numbers, and which arguments matter.
    calls: &'static [(i32, Means)],
    /// Functions that perform it, perhaps depending on their arguments: a program that imports one
    /// may do so. Only for operations that affect the whole program.
    pub functions: &'static [&'static str],
}

const FUTEX: i32 = 202;
const IO_URING_SETUP: i32 = 425;
const PRCTL: i32 = 157;
const PTRACE: i32 = 101;
const SCHED_SETAFFINITY: i32 = 203;
const SECCOMP: i32 = 317;
const SETFSGID: i32 = 123;
const SETFSUID: i32 = 122;

const PR_SET_SECCOMP: u64 = 22;
const PR_SET_TSC: u64 = 26;
const PR_TSC_SIGSEGV: u64 = 2;
/// The largest seccomp operation that sets something.
const SECCOMP_SET_MODE_FILTER: u64 = 1;
/// `IORING_SETUP_SINGLE_ISSUER` and `IORING_SETUP_DEFER_TASKRUN`.
const TIES: u64 = 1 << 12 | 1 << 13;

/// All operations, those that affect the whole program first.
pub static ROWS: &[Row] = &[
    Row {
        reason: "it installs a seccomp filter",
        effect: Refuses,
        calls: &[
            (PRCTL, |[option, _]| option == PR_SET_SECCOMP),
            (SECCOMP, |[operation, _]| {
                operation <= SECCOMP_SET_MODE_FILTER
            }),
        ],
        functions: &["seccomp_load"],
    },
    Row {
        reason: "it forbids itself the time-stamp counter",
        effect: Refuses,
        calls: &[(PRCTL, |arguments| arguments == [PR_SET_TSC, PR_TSC_SIGSEGV])],
        functions: &[],
    },
    Row {
        reason: "it has mutexes that change their owner's priority",
        effect: Refuses,
        calls: &[(FUTEX, |_| true)],
        functions: &["pthread_mutexattr_setprotocol"],
    },
    Row {
        reason: "it traces another program, or has itself traced",
        effect: StaysHome,
        calls: &[(PTRACE, |_| true)],
        functions: &[],
    },
    Row {
        reason: "it changes the rights of single threads to files",
        effect: StaysHome,
        calls: &[(SETFSUID, |_| true), (SETFSGID, |_| true)],
        functions: &[],
    },
    Row {
        reason: "it places threads on CPUs itself",
        effect: StaysHome,
        calls: &[(SCHED_SETAFFINITY, |_| true)],
        functions: &[],
    },
    Row {
        reason: "it ties an io_uring to one thread",
        effect: StaysHome,
        calls: &[(IO_URING_SETUP, |[_, flags]| flags & TIES != 0)],
        functions: &[],
    },
];

impl Row {
    /// Whether this system call performs it. The arguments are those that determine the effect, as
    /// in traces of calls with lasting effects; for a futex, they show that it uses priority
    /// inheritance.
    #[must_use]
    pub fn is_done_by(&self, number: i32, arguments: [u64; 2]) -> bool {
        let is_it = |&(of, means): &(i32, Means)| of == number && means(arguments);
        self.calls.iter().any(is_it)
    }

    /// Returns the message about the operation, observed or possible.
    #[must_use]
    pub fn said(&self, is_seen: bool) -> String {
        let what = match self.effect {
            Refuses => "carriers refuse",
            StaysHome => "threads stay at home",
        };
        let joined = if is_seen { ":" } else { " if" };
        format!("{what}{joined} {}", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(number: i32, arguments: [u64; 2]) -> Vec<&'static str> {
        let rows = ROWS.iter();
        let done = rows.filter(|row| row.is_done_by(number, arguments));
        done.map(|row| row.reason).collect()
    }

    #[test]
    fn a_call_means_what_its_arguments_say() {
        let filter = ["it installs a seccomp filter"];
        assert_eq!(reasons(PRCTL, [PR_SET_SECCOMP, 2]), filter);
        assert_eq!(reasons(SECCOMP, [1, 0]), filter);
        // This operation only queries support.
        assert!(reasons(SECCOMP, [2, 0]).is_empty());
        let counter = ["it forbids itself the time-stamp counter"];
        assert_eq!(reasons(PRCTL, [PR_SET_TSC, PR_TSC_SIGSEGV]), counter);
        assert!(reasons(PRCTL, [PR_SET_TSC, 1]).is_empty());
        let ring = ["it ties an io_uring to one thread"];
        assert_eq!(reasons(IO_URING_SETUP, [0, 1 << 13]), ring);
        assert!(reasons(IO_URING_SETUP, [0, 1 << 1]).is_empty());
        assert!(reasons(0, [PR_SET_SECCOMP, 2]).is_empty());
    }

    #[test]
    fn what_is_seen_is_said_otherwise_than_what_may_be() {
        let filter = &ROWS[0];
        assert_eq!(
            filter.said(true),
            "carriers refuse: it installs a seccomp filter"
        );
        assert_eq!(
            filter.said(false),
            "carriers refuse if it installs a seccomp filter"
        );
        assert!(ROWS[3].said(true).starts_with("threads stay at home: "));
    }

    #[test]
    fn every_reason_fits_a_plan() {
        for row in ROWS {
            assert!(row.reason.len() <= crate::plan::MOST_REASON_BYTES);
        }
    }
}
