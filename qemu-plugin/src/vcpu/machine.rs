// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of a whole machine's servers, which share its virtual CPUs (`system`).

use super::{Vcpu, vcpu};
use crate::phase;
use crate::shared::plugin;
use crate::system::frames::{self, News, OfPage};
use corehop_wire::ring::Message;
use std::ffi::c_uint;

/// Sets the guest's ids of the new thread at this place.
///
/// # Safety
/// The caller is in a QEMU callback; one thread runs all virtual CPUs.
pub(crate) unsafe fn names(place: usize, process: u32, thread: u32) {
    // SAFETY: as required of the caller, which cannot hold a reference that only `vcpu` provides.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.in_guest = Some([process, thread]);
    }
}

/// Handles that the thread at this place stops running for now.
///
/// # Safety
/// As for [`names`].
pub(crate) unsafe fn leaves_cpu(place: usize) {
    // SAFETY: as in `names`.
    let Some(vcpu) = (unsafe { vcpu(place as c_uint) }) else {
        return;
    };
    if vcpu.stream.pause(&plugin().memory).is_err() {
        vcpu.turn_off();
    }
}

/// Handles that the thread at this place runs again, on this guest CPU. Its next events follow
/// those of others in the meantime.
///
/// # Safety
/// As for [`names`].
pub(crate) unsafe fn enters_cpu(place: usize, cpu: usize) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.on_cpu = cpu as u16;
        vcpu.stream.stamp(&plugin().memory);
    }
}

/// Counts a request of the thread at this place, which is not recorded, since not everything is
/// instrumented yet.
///
/// # Safety
/// As for [`names`].
pub(crate) unsafe fn counts_mark(place: usize) {
    // SAFETY: as in `names`.
    let Some(vcpu) = (unsafe { vcpu(place as c_uint) }) else {
        return;
    };
    let memory = &plugin().memory;
    vcpu.serves = true;
    if memory.is_stopped() {
        return;
    }
    if memory.count_mark().chosen {
        memory.decline();
    }
    phase::arm_if_due();
}

/// Records an access of the thread at this place, given by `word`, on the page returned by `page`.
///
/// # Safety
/// As for [`names`].
#[inline(always)]
pub(crate) unsafe fn accesses(place: usize, word: u64, page: impl FnOnce() -> Option<OfPage>) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.comes_to(page);
        vcpu.push(word);
    }
}

/// Notes that the thread at this place executes code on the page returned by `page`.
///
/// # Safety
/// As for [`names`].
#[inline(always)]
pub(crate) unsafe fn fetches(place: usize, page: impl FnOnce() -> Option<OfPage>) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.comes_to(page);
    }
}

impl Vcpu {
    /// Handles an access to a page. Reports its address to the recorder, unless it is known.
    #[inline(always)]
    fn comes_to(&mut self, page: impl FnOnce() -> Option<OfPage>) {
        let Some([process, thread]) = self.in_guest else {
            return;
        };
        if !self.stream.is_writing() || !self.is_recorded() {
            return;
        }
        if self.told_cpu != Some(self.on_cpu) {
            self.tell_cpu(process, thread);
        }
        if let Some(page) = page()
            && let Some(news) = frames::news(process, page)
        {
            self.tell(process, page, news);
        }
    }

    /// Reports the CPU on which the thread runs: from the start, or from this execution.
    #[cold]
    fn tell_cpu(&mut self, process: u32, thread: u32) {
        let memory = &plugin().memory;
        let since = match self.told_cpu {
            None => Ok(0),
            Some(_) => self.stream.stamp_execution(memory),
        };
        self.told_cpu = Some(self.on_cpu);
        let cpu = self.on_cpu;
        let told = since.and_then(|since| {
            memory.send(&Message::Cpu {
                process,
                thread,
                since,
                cpu,
            })
        });
        if told.is_err() {
            self.turn_off();
        }
    }

    #[cold]
    fn tell(&mut self, process: u32, page: OfPage, news: News) {
        let memory = &plugin().memory;
        let since = match news {
            News::First => Ok(0),
            News::Moved => self.stream.stamp_execution(memory),
        };
        let told = since.and_then(|since| {
            memory.send(&Message::Page {
                process: if page.is_kernels() { 0 } else { process },
                since,
                number: page.number,
                frame: page.frame,
            })
        });
        if told.is_err() {
            self.turn_off();
        }
    }
}

/// Handles the end of the thread at this place.
///
/// # Safety
/// As for [`names`].
pub(crate) unsafe fn ends(place: usize) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.end_request(true);
        vcpu.stream.end();
        vcpu.off = true;
    }
}
