// SPDX-License-Identifier: GPL-2.0-or-later
//! Handling of system calls for a thread's stream and request.

use super::{VCPUS_SEEN, Vcpu, vcpu};
use crate::connections::SystemCall;
use crate::phase::{self, Phase};
use crate::shared::plugin;
use corehop_wire::ring::Event;
use std::ffi::c_uint;
use std::sync::atomic::Ordering;

/// Reports the begin of a system call to the recorder, if this thread is being recorded.
///
/// # Safety
/// The caller runs virtual CPU `index` and is in a QEMU callback.
pub(crate) unsafe fn tells_system_call(index: c_uint, number: i64) {
    // SAFETY: as required of the caller, which cannot hold a reference that only this file
    // provides.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    let is_told = vcpu.stream.is_writing() && vcpu.is_recorded();
    vcpu.call_is_told = is_told && Phase::now() == Phase::Recording;
    if vcpu.call_is_told {
        // QEMU passes the guest's own number, of 32 bits.
        vcpu.push(Event::SystemCall(number as i32).encode());
    }
}

/// Handles the begin of a system call in which this thread may sleep or end.
///
/// # Safety
/// As for [`tells_system_call`].
pub(crate) unsafe fn enters_system_call(index: c_uint, call: SystemCall) {
    // SAFETY: as in `tells_system_call`.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    vcpu.call = call;
    if call.number == libc::SYS_exit {
        vcpu.end_request(true);
        vcpu.stream.end();
        *vcpu = Vcpu::new();
    } else if vcpu.stream.pause(&plugin().memory).is_err() {
        vcpu.turn_off();
    }
    phase::rest();
}

/// Returns the thread's system call in progress, with its arguments.
///
/// # Safety
/// As for [`enters_system_call`].
pub(crate) unsafe fn system_call(index: c_uint) -> Option<SystemCall> {
    // SAFETY: as in `enters_system_call`.
    Some(unsafe { vcpu(index) }?.call)
}

/// Handles the return of a system call: the thread's next events follow whatever it waited for.
///
/// # Safety
/// As for [`enters_system_call`].
pub(crate) unsafe fn leaves_system_call(index: c_uint, result: i64) {
    // SAFETY: as in `enters_system_call`.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        let is_told = std::mem::take(&mut vcpu.call_is_told);
        // QEMU's internal number for a thread that continues elsewhere is not a result.
        if is_told && vcpu.call.number != libc::SYS_rt_sigreturn {
            vcpu.push(Event::SystemCallReturned(result).encode());
        }
        vcpu.stream.stamp(&plugin().memory);
    }
}

/// Handles a read from a connection, which may begin a request.
///
/// # Safety
/// As for [`enters_system_call`].
pub(crate) unsafe fn has_read(index: c_uint, connection: u64, begins: bool) {
    // SAFETY: as in `enters_system_call`.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    VCPUS_SEEN.fetch_max(index as usize + 1, Ordering::Relaxed);
    vcpu.connection = connection;
    if begins {
        vcpu.serves = true;
        vcpu.mark();
    }
}

/// Ends the thread's activity when it executes another program. If the system rejects that, the
/// thread continues as between two requests.
///
/// # Safety
/// As for [`enters_system_call`].
pub(crate) unsafe fn leaves_program(index: c_uint) {
    // SAFETY: as in `enters_system_call`.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        vcpu.end_request(true);
        vcpu.stream.end();
    }
}
