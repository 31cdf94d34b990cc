// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of a whole machine's servers, which take turns on its virtual CPU (`system`).

use super::{Vcpu, vcpu};
use crate::shared::plugin;
use crate::system::frames::{self, News, OfPage};
use corehop_ring::Message;
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

/// The thread at this place makes the access that the word says, on the page that `page` finds.
///
/// # Safety
/// As of [`names`].
#[inline(always)]
pub(crate) unsafe fn accesses(place: usize, word: u64, page: impl FnOnce() -> Option<OfPage>) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.comes_to(page);
        vcpu.push(word);
    }
}

/// The thread at this place executes code on the page that `page` finds.
///
/// # Safety
/// As of [`names`].
#[inline(always)]
pub(crate) unsafe fn fetches(place: usize, page: impl FnOnce() -> Option<OfPage>) {
    // SAFETY: as in `names`.
    if let Some(vcpu) = unsafe { vcpu(place as c_uint) } {
        vcpu.comes_to(page);
    }
}

impl Vcpu {
    /// The execution that goes on comes to a page. The recorder is told where that is, unless it
    /// knows.
    #[inline(always)]
    fn comes_to(&mut self, page: impl FnOnce() -> Option<OfPage>) {
        let Some([process, _]) = self.in_guest else {
            return;
        };
        if self.stream.is_writing()
            && self.is_recorded()
            && let Some(page) = page()
            && let Some(news) = frames::news(process, page)
        {
            self.tell(process, page, news);
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
