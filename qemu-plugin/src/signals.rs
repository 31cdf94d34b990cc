// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the server's signal handlers begin.
//!
//! QEMU runs a handler as it runs all code, and tells a plugin nothing of it. But the server has to
//! say where its handlers are, so each is told to the recorder once. Where they end follows from
//! what they do.

use crate::connections::SystemCall;
use crate::guest;
use crate::shared::plugin;
use corehop_wire::ring::Message;
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
    // The first word of the kernel's `struct sigaction` is the handler.
    let handler = guest::word(call.arguments[1]);
    let Some(handler) = handler.filter(|new| !NO_HANDLERS.contains(new)) else {
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
