//! The physical locations of pages from markers, and which of them the trace contains.
//!
//! A pair of markers contains the physical and virtual address of one page, valid until the next
//! pair for that page. Pages outside the lower half, those of the kernel and of an export's
//! numbered memories, are the same in all processes. A trace records pages per process, so each
//! process's pages are recorded at their first use. A page that was used before its location was
//! known moves when it becomes known.

use crate::convert::error::{Fault, problem};
use crate::{PAGE_SHIFT, Page};
use std::collections::HashMap;

/// Bits of an address that is private to a process.
const LOWER_HALF_BITS: u32 = 47;
/// Number of recently used pages that are cached; a page's slot is its number modulo this.
const RECENT: usize = 256;

/// A process, and the number of one of its pages.
type Key = (u32, u64);

#[derive(Default)]
pub(super) struct Frames {
    /// The page size in the file, if it differs from ours.
    other_bytes: Option<u64>,
    /// The first marker of an incomplete pair.
    physical: Option<u64>,
    /// Frames of pages; those of all processes have process 0.
    by_page: HashMap<Key, u64>,
    /// For each page that a process has used, the frame recorded in the trace.
    told: HashMap<Key, Option<u64>>,
    /// Pages that are unchanged since the last marker.
    recent: Vec<Option<Key>>,
}

/// What must be recorded before a page is used.
pub(super) struct News {
    /// Its location, valid for the whole trace.
    pub(super) page: Page,
    /// Whether it had another or an unknown location when it was used before.
    pub(super) has_moved: bool,
}

impl Frames {
    /// Sets the page size in the file.
    pub(super) fn page_bytes(&mut self, bytes: u64) {
        self.other_bytes = (bytes != 1 << PAGE_SHIFT).then_some(bytes);
    }

    /// Processes the first marker of a pair.
    pub(super) fn physical(&mut self, address: u64) {
        self.physical = Some(address);
    }

    /// Processes the second marker of a pair.
    pub(super) fn of_virtual(&mut self, process: u32, address: u64) -> Result<(), Fault> {
        let Some(physical) = self.physical.take() else {
            return problem("a page's virtual address without its physical one before it");
        };
        if let Some(bytes) = self.other_bytes {
            return problem(format!(
                "physical pages of {bytes} bytes; only those of 4096 are read"
            ));
        }
        let number = address >> PAGE_SHIFT;
        let frame = physical >> PAGE_SHIFT;
        if !page(process, number, frame).is_possible() {
            return problem(format!(
                "a page at {physical:#x}, which is no physical address"
            ));
        }
        self.by_page.insert(owned(process, number), frame);
        self.recent.clear();
        Ok(())
    }

    /// Returns the change to record, if any, for the page of an address that the process uses.
    pub(super) fn news(&mut self, process: u32, address: u64) -> Option<News> {
        let number = address >> PAGE_SHIFT;
        let key = (process, number);
        self.recent.resize(RECENT, None);
        let recent = &mut self.recent[number as usize % RECENT];
        if recent.replace(key) == Some(key) {
            return None;
        }
        let frame = self.by_page.get(&owned(process, number)).copied();
        let before = self.told.insert(key, frame);
        let page = page(process, number, frame?);
        match before {
            Some(before) if before == frame => None,
            before => Some(News {
                page,
                has_moved: before.is_some(),
            }),
        }
    }
}

fn owned(process: u32, number: u64) -> Key {
    match number >> (LOWER_HALF_BITS - PAGE_SHIFT) {
        0 => (process, number),
        _ => (0, number),
    }
}

fn page(process_id: u32, number: u64, frame: u64) -> Page {
    Page {
        process_id,
        since: 0,
        number,
        frame,
    }
}
