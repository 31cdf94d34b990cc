// SPDX-License-Identifier: GPL-2.0-or-later
//! System calls: passes each call to the parts of the plugin that it concerns, and reports the
//! calls of recorded threads to the recorder.

use crate::connections::{self, SystemCall};
use crate::shared::plugin;
use crate::{exec, known, lasting, signals, vcpu};
use qemu_plugin_sys::qemu_plugin_id_t;
use std::ffi::c_uint;

/// A call begins.
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe extern "C" fn on_call(
    _id: qemu_plugin_id_t,
    index: c_uint,
    number: i64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    fifth: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    let call = SystemCall {
        number,
        arguments: [first, second, third, fourth],
    };
    plugin().memory.count_call(number);
    // Reported first: the call may end the process, or replace its program.
    // SAFETY: QEMU calls this on the thread of this virtual CPU.
    unsafe { vcpu::tells_system_call(index, number) };
    connections::begins(&call);
    signals::begins(&call);
    lasting::begins(&call);
    exec::begins(index, &call, fifth);
    // SAFETY: as above.
    unsafe { vcpu::enters_system_call(index, call) };
}

/// A call returns.
pub(crate) unsafe extern "C" fn on_return(
    _id: qemu_plugin_id_t,
    index: c_uint,
    _number: i64,
    result: i64,
) {
    // SAFETY: QEMU calls this on the thread of this virtual CPU.
    let Some(call) = (unsafe { vcpu::system_call(index) }) else {
        return;
    };
    // Reported before the thread gets a new stamp: it applies to everything after that.
    known::called(&call, result);
    // SAFETY: as above.
    unsafe { vcpu::leaves_system_call(index, result) };
    if let Some(read) = connections::returns(&call, result) {
        let begins = read.begins && plugin().at_system_calls;
        // SAFETY: as above.
        unsafe { vcpu::has_read(index, read.connection, begins) };
    }
}

/// A call begins after the end of recording; a program that it executes must still end with the
/// others.
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe extern "C" fn on_late_call(
    _id: qemu_plugin_id_t,
    index: c_uint,
    number: i64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    fifth: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    let call = SystemCall {
        number,
        arguments: [first, second, third, fourth],
    };
    exec::begins(index, &call, fifth);
}
