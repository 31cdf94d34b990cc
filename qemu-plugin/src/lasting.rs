// SPDX-License-Identifier: GPL-2.0-or-later
//! System calls that change how the kernel treats a process or one of its threads.
//!
//! A server makes most of them before its first request, when nothing is recorded. So they are
//! observed from its start, whether the kernel under QEMU grants them or not, and each kind is
//! reported to the recorder once. The reader of the trace decides which of them matter.

use crate::connections::SystemCall;
use crate::guest;
use crate::shared::plugin;
use corehop_wire::ring::{LastingCall, Message};
use std::sync::Mutex;

/// The reported calls: number and arguments.
static TOLD: Mutex<Vec<(i64, [u64; 2])>> = Mutex::new(Vec::new());

/// Maximum number of kinds reported for a process.
const MOST: usize = 64;

/// Futex commands for locks with priority inheritance.
const INHERITING: [i32; 6] = [
    libc::FUTEX_LOCK_PI,
    libc::FUTEX_UNLOCK_PI,
    libc::FUTEX_TRYLOCK_PI,
    libc::FUTEX_WAIT_REQUEUE_PI,
    libc::FUTEX_CMP_REQUEUE_PI,
    libc::FUTEX_LOCK_PI2,
];

/// Flags that can be combined with a futex command.
const FUTEX_FLAGS: i32 = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;

/// Offset of the flags in `struct io_uring_params`.
const FLAGS_AT: u64 = 8;

/// Handles the begin of a system call.
pub(crate) fn begins(call: &SystemCall) {
    let Some(arguments) = what(call) else {
        return;
    };
    let kind = (call.number, arguments);
    // As with signal handlers: a forked child may report a kind once more.
    let mut told = TOLD.try_lock().ok();
    if told
        .as_ref()
        .is_some_and(|told| told.contains(&kind) || told.len() == MOST)
    {
        return;
    }
    let call = LastingCall {
        process: std::process::id(),
        number: call.number as i32,
        arguments,
    };
    if plugin().memory.send(&Message::LastingCall(call)).is_ok()
        && let Some(told) = &mut told
    {
        told.push(kind);
    }
}

/// Returns the arguments that determine the effect of such a call; `None` for other calls.
fn what(call: &SystemCall) -> Option<[u64; 2]> {
    let [first, second, ..] = call.arguments;
    match call.number {
        libc::SYS_prctl => {
            let options = [libc::PR_SET_SECCOMP, libc::PR_SET_TSC];
            options.contains(&(first as i32)).then_some([first, second])
        }
        libc::SYS_seccomp | libc::SYS_ptrace => Some([first, 0]),
        libc::SYS_futex => {
            let command = second as i32 & !FUTEX_FLAGS;
            INHERITING.contains(&command).then_some([0, command as u64])
        }
        libc::SYS_setfsuid | libc::SYS_setfsgid | libc::SYS_sched_setaffinity => Some([0, 0]),
        libc::SYS_io_uring_setup => {
            let flags = guest::word(second.checked_add(FLAGS_AT)?)?;
            Some([0, flags & u64::from(u32::MAX)])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(number: i64, first: u64, second: u64) -> Option<[u64; 2]> {
        let arguments = [first, second, 7, 7];
        what(&SystemCall { number, arguments })
    }

    #[test]
    fn only_what_lasts_is_told_and_only_what_says_what_it_is() {
        let filter = libc::PR_SET_SECCOMP as u64;
        assert_eq!(told(libc::SYS_prctl, filter, 2), Some([filter, 2]));
        assert_eq!(told(libc::SYS_prctl, libc::PR_SET_NAME as u64, 2), None);
        assert_eq!(told(libc::SYS_seccomp, 1, 9), Some([1, 0]));
        let wait = libc::FUTEX_WAIT as u64;
        assert_eq!(told(libc::SYS_futex, 0x1000, wait), None);
        let lock = libc::FUTEX_LOCK_PI as u64;
        let own = libc::FUTEX_PRIVATE_FLAG as u64 | lock;
        assert_eq!(told(libc::SYS_futex, 0x1000, own), Some([0, lock]));
        let parameters = [0u32, 0, 1 << 12, 3];
        let at = &raw const parameters as u64;
        assert_eq!(told(libc::SYS_io_uring_setup, 8, at), Some([0, 1 << 12]));
        assert_eq!(told(libc::SYS_io_uring_setup, 8, u64::MAX), None);
        assert_eq!(told(libc::SYS_read, 22, 2), None);
    }
}
