// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the server's signal handlers begin.
//!
//! QEMU runs a handler as it runs all code, and tells a plugin nothing of it. But the server has to
//! say where its handlers are, so each is told to the recorder once. Where they end follows from
//! what they do.

use crate::connections::SystemCall;
use crate::shared::plugin;
use corehop_ring::Message;
use std::sync::Mutex;

/// Handlers that the recorder knows. A server has a few.
static TOLD: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// What stands in the place of a handler where there is none: `SIG_DFL` and `SIG_IGN`.
const NO_HANDLERS: [u64; 2] = [0, 1];

/// A system call begins: it may install a handler.
pub(crate) fn begins(call: &SystemCall) {
    if call.number != libc::SYS_rt_sigaction || call.arguments[1] == 0 {
        return;
    }
    let Some(handler) = read(call.arguments[1]).filter(|new| !NO_HANDLERS.contains(new)) else {
        return;
    };
    // A thread that had this when another forked is not there in the child to give it back: then
    // the recorder is told once more.
    let mut told = TOLD.try_lock().ok();
    if told.as_ref().is_some_and(|told| told.contains(&handler)) {
        return;
    }
    if plugin().memory.send(&Message::Handler(handler)).is_ok()
        && let Some(told) = &mut told
    {
        told.push(handler);
    }
}

/// The word at an address that the server has given the system, which may be none of its own. It is
/// the first of the kernel's `struct sigaction`: the handler.
fn read(address: u64) -> Option<u64> {
    let mut word = 0u64;
    let local = libc::iovec {
        iov_base: (&raw mut word).cast(),
        iov_len: 8,
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: 8,
    };
    // SAFETY: the word is 8 bytes long, and the system itself looks whether the address is mapped.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (read == 8).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_where_there_is_one() {
        let word = 0x1234_5678u64;
        assert_eq!(read(&raw const word as u64), Some(word));
        assert_eq!(read(8), None);
    }
}
