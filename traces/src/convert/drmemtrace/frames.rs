//! Where markers say that pages are in physical memory, and what of it the trace has been told.
//!
//! A pair of markers tells of one page until the next does, with its physical and its virtual
//! address. Pages beyond the lower half, the kernel's and those of an export's numbered memories,
//! are the same to all processes. A trace tells of pages process by process, so each process's are
//! told when it first uses them; those used before anything was known of them move when it is.

use crate::convert::error::{Fault, problem};
use crate::{PAGE_SHIFT, Page};
use std::collections::HashMap;

/// Bits of an address that are a process's own.
const LOWER_HALF_BITS: u32 = 47;
/// Pages that were asked for are kept at their number modulo this.
const RECENT: usize = 256;

/// A page of a process, by number.
type Key = (u32, u64);

#[derive(Default)]
pub(super) struct Frames {
    /// The size of pages, if the file says another than ours.
    other_bytes: Option<u64>,
    /// Of a pair of markers the first.
    physical: Option<u64>,
    /// Where pages are; of all processes' under process 0.
    by_page: HashMap<Key, u64>,
    /// Of the pages that processes have used, where the trace says that they are.
    told: HashMap<Key, Option<u64>>,
    /// Of which nothing is new since the last marker.
    recent: Vec<Option<Key>>,
}

/// What the trace must be told before a page is used.
pub(super) struct News {
    /// Where it is, for always.
    pub(super) page: Page,
    /// Whether it was elsewhere, or not known, when it was used before.
    pub(super) has_moved: bool,
}

impl Frames {
    /// Of each page, as the file says.
    pub(super) fn page_bytes(&mut self, bytes: u64) {
        self.other_bytes = (bytes != 1 << PAGE_SHIFT).then_some(bytes);
    }

    /// The first of a pair of markers.
    pub(super) fn physical(&mut self, address: u64) {
        self.physical = Some(address);
    }

    /// The second.
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

    /// What is new of the page of an address that the process uses.
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
