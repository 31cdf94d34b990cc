// SPDX-License-Identifier: GPL-2.0-or-later
//! The physical addresses of pages in the guest.
//!
//! For a load or store, QEMU reports it: it has just looked up the page. For code it does not, but
//! it keeps a translation for each physical page, so translated code runs only there. The host
//! address of the code then determines the physical address, because the guest's memory is a file.
//! Only the page in which a code block begins is reported; if the block continues in the next page,
//! code that begins there reports it. The same applies to a load or store that spans pages. Device
//! registers are not memory, and are not reported.
//!
//! A page's address is reported when a recorded thread first accesses it, as valid from the start,
//! and again when it changes. Rejected: walking the kernel's page tables, which would provide no
//! more.

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

/// The physical address of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OfPage {
    /// Virtual address, divided by its size.
    pub(crate) number: u64,
    /// Physical address, divided by its size.
    pub(crate) frame: u64,
}

impl OfPage {
    /// Returns the page of a load or store; only valid in its callback.
    pub(crate) fn of_data(info: qemu_plugin_meminfo_t, address: u64) -> Option<OfPage> {
        // SAFETY: this is the callback of the access, and the handle is used only here.
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

    /// Returns the page of code at this host address.
    pub(crate) fn of_code(address: u64, host: u64) -> Option<OfPage> {
        let number = address >> PAGE_SHIFT;
        let is_here = |line: &&Line| line.range.contains(&host);
        let line = memory().iter().find(is_here)?;
        let offset = host - line.range.start + line.file_offset;
        let frame = offset >> PAGE_SHIFT;
        Some(OfPage { number, frame })
    }

    /// Whether it is in the kernel's half, which all processes share.
    pub(crate) fn is_kernels(&self) -> bool {
        is_kernel(self.number << PAGE_SHIFT)
    }
}

/// Returns this process's mappings of the guest's memory: those of QEMU and of this plugin.
fn memory() -> &'static [Line] {
    static MEMORY: OnceLock<Vec<Line>> = OnceLock::new();
    // When the first code is translated, QEMU has created the machine.
    MEMORY.get_or_init(|| {
        let identity = GUEST.get().map(|guest| guest.ram.identity());
        let is_memory = |line: &Line| Some(line.identity) == identity;
        maps::lines().into_iter().filter(is_memory).collect()
    })
}

/// A translated code block, as passed to callbacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Translated {
    /// Its number.
    pub(crate) number: u32,
    /// The page in which it begins.
    pub(crate) page: Option<OfPage>,
}

impl Translated {
    /// Returns a pointer for a callback. It is never freed, because QEMU may use it at any later
    /// time.
    pub(crate) fn for_callback(self) -> *mut c_void {
        static ALL: Mutex<Option<HashMap<Translated, &Translated>>> = Mutex::new(None);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_or_insert_default().entry(self);
        let kept: &'static Translated = kept.or_insert_with(|| Box::leak(Box::new(self)));
        std::ptr::from_ref(kept).cast_mut().cast()
    }
}

/// Returns the data passed to a callback.
pub(crate) fn translated(data: *mut c_void) -> &'static Translated {
    // SAFETY: callbacks of a machine's code are registered only with such pointers, whose data is
    // never changed or freed.
    unsafe { &*data.cast() }
}

/// The reason to report a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It was not reported before.
    First,
    /// It was at another physical address.
    Moved,
}

/// The reported pages.
struct Told {
    /// By process and page number: its frame.
    frames: HashMap<(u32, u64), u64>,
    /// A cache of these, at the page number modulo the length.
    recent: Box<[(u32, OfPage)]>,
}

const RECENT: usize = 1 << 12;

static TOLD: Mutex<Option<Told>> = Mutex::new(None);

/// Returns the reason to report a page of a process, and notes it as reported.
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
