//! CPU time used by this process and the programs it ran.

use std::mem::zeroed;

/// Cumulative usage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode and in the kernel, of this process and of children that ended.
    pub cpu_seconds: f64,
    /// Number of times the kernel preempted a runnable thread of this process.
    pub involuntary_switches: u64,
}

/// Returns the usage until now.
pub fn now() -> Usage {
    let own = of(libc::RUSAGE_SELF);
    let children = of(libc::RUSAGE_CHILDREN);
    Usage {
        cpu_seconds: own.cpu_seconds + children.cpu_seconds,
        involuntary_switches: own.involuntary_switches,
    }
}

fn of(who: i32) -> Usage {
    // SAFETY: the structure consists of integers, for which zero is valid, and the kernel fills it
    // in.
    let told = unsafe {
        let mut told: libc::rusage = zeroed();
        match libc::getrusage(who, &raw mut told) {
            0 => told,
            _ => return Usage::default(),
        }
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Usage {
        cpu_seconds: seconds(told.ru_utime) + seconds(told.ru_stime),
        involuntary_switches: told.ru_nivcsw as u64,
    }
}
