// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of a whole machine's servers, which take turns on its virtual CPU (`system`).

use super::vcpu;
use crate::shared::plugin;
use std::ffi::c_uint;

/// The thread at this place, which is new, has these numbers in the guest.
///
/// # Safety
/// The caller is in a callback of QEMU's, of the only virtual CPU.
pub(crate) unsafe fn names(place: usize, process: u32, thread: u32) {
    // SAFETY: as required of the caller, who cannot hold what only `vcpu` hands out.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.in_guest = Some([process, thread]);
    }
}

/// The thread at this place runs no more for now.
///
/// # Safety
/// As of [`names`].
pub(crate) unsafe fn leaves_cpu(place: usize) {
    // SAFETY: as in `names`.
    let Some(vcpu) = (unsafe { vcpu(place as c_uint) }) else {
        return;
    };
    if vcpu.stream.pause(&plugin().memory).is_err() {
        vcpu.turn_off();
    }
}

/// The thread at this place runs again: what it does comes after what others have done meanwhile.
///
/// # Safety
/// As of [`names`].
pub(crate) unsafe fn enters_cpu(place: usize) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.stream.stamp(&plugin().memory);
    }
}

/// The thread at this place makes the access that the word says.
///
/// # Safety
/// As of [`names`].
#[inline(always)]
pub(crate) unsafe fn accesses(place: usize, word: u64) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.push(word);
    }
}

/// The thread at this place ends.
///
/// # Safety
/// As of [`names`].
pub(crate) unsafe fn ends(place: usize) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.end_request(true);
        vcpu.stream.end();
        vcpu.off = true;
    }
}
