// SPDX-License-Identifier: GPL-2.0-or-later
//! What becomes of a thread's stream and request where it makes a system call.

use super::{VCPUS_SEEN, Vcpu, vcpu};
use crate::connections::SystemCall;
use crate::phase::{self, Phase};
use crate::shared::plugin;
use corehop_wire::ring::Event;
use std::ffi::c_uint;
use std::sync::atomic::Ordering;

/// A system call begins: the recorder is told, if it is told of what this thread does.
///
/// # Safety
/// The calling thread runs virtual CPU `index` and is in a callback of QEMU's.
pub(crate) unsafe fn tells_system_call(index: c_uint, number: i64) {
    // SAFETY: as required of the caller, who cannot hold what only this file hands out.
    let Some(vcpu) = (unsafe { vcpu(index) }) else {
        return;
    };
    let is_told = vcpu.stream.is_writing() && vcpu.is_recorded();
    vcpu.call_is_told = is_told && Phase::now() == Phase::Recording;
    if vcpu.call_is_told {
        // QEMU hands the number on as the guest's own, of 32 bits.
        vcpu.push(Event::SystemCall(number as i32).encode());
    }
}

/// A system call begins: this thread may sleep in it, or end by it.
///
/// # Safety
/// As of [`tells_system_call`].
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

/// The system call that the thread is in, as it was made.
///
/// # Safety
/// As of [`enters_system_call`].
pub(crate) unsafe fn system_call(index: c_uint) -> Option<SystemCall> {
    // SAFETY: as in `enters_system_call`.
    Some(unsafe { vcpu(index) }?.call)
}

/// A system call returns: what this thread does next comes after whatever it was waiting for.
///
/// # Safety
/// As of [`enters_system_call`].
pub(crate) unsafe fn leaves_system_call(index: c_uint, result: i64) {
    // SAFETY: as in `enters_system_call`.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        let is_told = std::mem::take(&mut vcpu.call_is_told);
        // QEMU's own number for a thread that goes on elsewhere is no result.
        if is_told && vcpu.call.number != libc::SYS_rt_sigreturn {
            vcpu.push(Event::SystemCallReturned(result).encode());
        }
        vcpu.stream.stamp(&plugin().memory);
    }
}

/// The thread has read from a connection; with that a request may begin.
///
/// # Safety
/// As of [`enters_system_call`].
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

/// This thread executes another program, and what it was doing ends. If the system refuses that, it
/// goes on as between two requests.
///
/// # Safety
/// As of [`enters_system_call`].
pub(crate) unsafe fn leaves_program(index: c_uint) {
    // SAFETY: as in `enters_system_call`.
    if let Some(vcpu) = unsafe { vcpu(index) } {
        vcpu.end_request(true);
        vcpu.stream.end();
    }
}
