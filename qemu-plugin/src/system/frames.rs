// SPDX-License-Identifier: GPL-2.0-or-later
//! Where pages are in the guest's physical memory.
//!
//! Of a load or store, QEMU tells: it has just looked the page up. Of code it does not, but it
//! keeps a translation for each physical place of a page, so what it translates runs there and
//! nowhere else: the host's address of the code says where, because the guest's memory is a file.
//! Only the page in which a block of code begins is told; one that goes on into the next page
//! leaves that to what begins there. So it is with a load or store that spans pages. Devices'
//! registers are no memory, and nothing is told of them.
//!
//! The recorder is told where a page is when a recorded thread first comes to it, as holding from
//! the start, and again where it is elsewhere. Rejected: to walk the kernel's tables, which would
//! tell no more.

use super::GUEST;
use super::half::is_kernel;
use crate::maps::{self, Line};
use qemu_plugin_sys::{
    qemu_plugin_get_hwaddr, qemu_plugin_hwaddr_is_io, qemu_plugin_hwaddr_phys_addr,
    qemu_plugin_meminfo_t,
};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

const PAGE_SHIFT: u32 = 12;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OfPage {
    /// Virtual address, divided by its size.
    pub(crate) number: u64,
    /// Physical address, divided by its size.
    pub(crate) frame: u64,
}

impl OfPage {
    /// The page of a load or store, in whose callback this is called.
    pub(crate) fn of_data(info: qemu_plugin_meminfo_t, address: u64) -> Option<OfPage> {
        // SAFETY: this is the callback of the access, and the handle is used in it alone.
        let physical = unsafe {
            let found = qemu_plugin_get_hwaddr(info, address);
            if found.is_null() || qemu_plugin_hwaddr_is_io(found) {
                return None;
            }
            qemu_plugin_hwaddr_phys_addr(found)
        };
        Some(OfPage {
            number: address >> PAGE_SHIFT,
            frame: physical >> PAGE_SHIFT,
        })
    }

    /// The page of code that QEMU has at this address of the host's.
    pub(crate) fn of_code(address: u64, host: u64) -> Option<OfPage> {
        let number = address >> PAGE_SHIFT;
        let is_here = |line: &&Line| line.range.contains(&host);
        let line = memory().iter().find(is_here)?;
        let offset = host - line.range.start + line.file_offset;
        let frame = offset >> PAGE_SHIFT;
        Some(OfPage { number, frame })
    }

    /// Whether it is in the kernel's half, which all processes have.
    pub(crate) fn is_kernels(&self) -> bool {
        is_kernel(self.number << PAGE_SHIFT)
    }
}

/// Where this process has the guest's memory: QEMU's mappings of it, and this plugin's.
fn memory() -> &'static [Line] {
    static MEMORY: OnceLock<Vec<Line>> = OnceLock::new();
    // The first code is translated when QEMU has made the machine.
    MEMORY.get_or_init(|| {
        let identity = GUEST.get().map(|guest| guest.ram.identity());
        let is_memory = |line: &Line| Some(line.identity) == identity;
        maps::lines().into_iter().filter(is_memory).collect()
    })
}

/// A block of code as it is translated, which callbacks are handed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Translated {
    /// The number it was defined with.
    pub(crate) number: u32,
    /// Where it begins.
    pub(crate) page: Option<OfPage>,
}

impl Translated {
    /// The same for a callback, for good: QEMU may call whatever it was once given.
    pub(crate) fn for_callback(self) -> *mut c_void {
        static ALL: Mutex<Option<HashMap<Translated, &Translated>>> = Mutex::new(None);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_or_insert_default().entry(self);
        let kept: &'static Translated = kept.or_insert_with(|| Box::leak(Box::new(self)));
        std::ptr::from_ref(kept).cast_mut().cast()
    }
}

/// What a callback was handed.
pub(crate) fn translated(data: *mut c_void) -> &'static Translated {
    // SAFETY: callbacks of a machine's code are registered with nothing else, and it is never
    // changed or freed.
    unsafe { &*data.cast() }
}

/// What is new about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing was told of it.
    First,
    /// It was elsewhere.
    Moved,
}

/// What was told.
struct Told {
    /// By process and number, where the page is.
    frames: HashMap<(u32, u64), u64>,
    /// Some of it, at the page's number modulo the length.
    recent: Box<[(u32, OfPage)]>,
}

const RECENT: usize = 1 << 12;

static TOLD: Mutex<Option<Told>> = Mutex::new(None);

/// What is new about a page of a process, which is told from now on.
pub(crate) fn news(process: u32, page: OfPage) -> Option<News> {
    let process = if page.is_kernels() { 0 } else { process };
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.get_or_insert_with(Told::nothing).news(process, page)
}

impl Told {
    fn nothing() -> Told {
        let nowhere = OfPage {
            number: u64::MAX,
            frame: 0,
        };
        Told {
            frames: HashMap::new(),
            recent: vec![(0, nowhere); RECENT].into(),
        }
    }

    fn news(&mut self, process: u32, page: OfPage) -> Option<News> {
        let recent = &mut self.recent[page.number as usize % RECENT];
        if *recent == (process, page) {
            return None;
        }
        *recent = (process, page);
        match self.frames.insert((process, page.number), page.frame) {
            None => Some(News::First),
            Some(before) => (before != page.frame).then_some(News::Moved),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_news_at_first_and_wherever_it_was_not_before() {
        let mut told = Told::nothing();
        let page = |number, frame| OfPage { number, frame };
        let colliding = 7 + RECENT as u64;
        let met = [
            (1, page(7, 3)),
            (1, page(7, 3)),
            (2, page(7, 3)),
            (1, page(colliding, 3)),
            (1, page(7, 3)),
            (1, page(7, 4)),
            (2, page(7, 3)),
            (1, page(7, 3)),
        ];
        let news = met.map(|(process, page)| told.news(process, page));
        let (first, moved) = (Some(News::First), Some(News::Moved));
        assert_eq!(news, [first, None, first, first, None, moved, None, moved]);
    }

    #[test]
    fn what_a_callback_is_handed_is_kept_once() {
        let block = Translated {
            number: 5,
            page: None,
        };
        let handed = block.for_callback();
        assert_eq!(block.for_callback(), handed);
        assert_eq!(translated(handed), &block);
    }
}
