// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds the entries of the server's signal handlers.
//!
//! QEMU runs a handler like other code and does not report it to a plugin. But the server must
//! register its handlers, so each is reported to the recorder once. Their ends follow from their
//! code.

use crate::connections::SystemCall;
use crate::guest;
use crate::shared::plugin;
use corehop_wire::ring::Message;
use std::sync::Mutex;

/// Reported handlers; a server has a few.
static TOLD: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// The values that are not handlers: `SIG_DFL` and `SIG_IGN`.
const NO_HANDLERS: [u64; 2] = [0, 1];

/// Handles the begin of a system call that may install a handler.
pub(crate) fn begins(call: &SystemCall) {
    if call.number != libc::SYS_rt_sigaction || call.arguments[1] == 0 {
        return;
    }
    // The first word of the kernel's `struct sigaction` is the handler.
    let handler = guest::word(call.arguments[1]);
    let Some(handler) = handler.filter(|new| !NO_HANDLERS.contains(new)) else {
        return;
    };
    // If another thread held this lock during a fork, it does not exist in the child to release it:
    // then the handler is reported once more.
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
