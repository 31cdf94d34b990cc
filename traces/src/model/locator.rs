//! Addresses as a reader receives them: located by their memory, or by their place in physical
//! memory.
//!
//! With virtual addresses, a line number is prefixed with the number of its memory
//! ([`super::address_space`]). With physical addresses, a line is where the trace places its page.
//! Memory that processes share, and memory that the kernel maps twice, is then one set of lines. A
//! page without a recorded frame keeps its virtual location. Physical addresses have bit 63 set and
//! the next 16 bits clear; located addresses and the kernel's never do.
//!
//! Pages rarely move. So each page has a list of frames, usually with one element. The cache of
//! recent pages is cleared only when a stamp is passed at which something changes.

use crate::model::address_space::{self, AddressSpaces, Mapping};
use crate::model::execution::LINE_SHIFT;
use crate::model::ids::ThreadId;
use crate::model::page::{PAGE_SHIFT, Page, is_of_upper_half};
use crate::model::reference::LineReference;
use crate::model::thread::Thread;
use std::collections::HashMap;

/// The kind of addresses that distinguish lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Index {
    /// Virtual addresses, separate for each process.
    #[default]
    Virtual,
    /// Physical addresses, if they are known.
    Physical,
}

/// Set in physical addresses.
const PHYSICAL: u64 = 1 << 63;

/// Returns the physical address, if the address that a reader received by [`Index::Physical`] is
/// one.
pub fn physical_address(address: u64) -> Option<u64> {
    const MEMORY: u32 = address_space::ADDRESS_BITS;
    (address >> MEMORY == PHYSICAL >> MEMORY).then_some(address & !PHYSICAL)
}

/// The physical locations of the pages of all processes.
#[derive(Default)]
pub struct PageTables {
    /// Process of each thread.
    process_of: Vec<u32>,
    /// By process and page number: pairs of a stamp and the frame from then on, in ascending order
    /// of stamps.
    frames: HashMap<(u32, u64), Vec<(u64, u64)>>,
    /// Stamps at which any page or mapping changes; ascending.
    changes: Vec<u64>,
}

impl PageTables {
    /// Builds the page tables of the processes of `threads`.
    pub fn new(threads: &[Thread], pages: &[Page], mappings: &[Mapping]) -> PageTables {
        if pages.is_empty() {
            return PageTables::default();
        }
        let mut frames: HashMap<(u32, u64), Vec<(u64, u64)>> = HashMap::new();
        for page in pages {
            let process = if page.is_of_upper_half() {
                0
            } else {
                page.process_id
            };
            let own = frames.entry((process, page.number)).or_default();
            own.push((page.since, page.frame));
        }
        // If stamps are equal, the later one holds; a stable sort keeps their order.
        frames
            .values_mut()
            .for_each(|own| own.sort_by_key(|&(since, _)| since));
        let since = pages.iter().map(|page| page.since);
        let since = since.chain(mappings.iter().map(|mapping| mapping.since));
        let mut changes: Vec<u64> = since.filter(|&since| since > 0).collect();
        changes.sort_unstable();
        changes.dedup();
        PageTables {
            process_of: threads.iter().map(|thread| thread.process_id).collect(),
            frames,
            changes,
        }
    }

    /// Returns the stamps at which a page or mapping changes.
    pub fn changes(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().copied()
    }

    /// Returns the frame of a thread's page at a virtual address, in its run with this stamp.
    pub fn of_thread(&self, thread: ThreadId, stamp: u64, address: u64) -> Option<u64> {
        let process = *self.process_of.get(thread.index())?;
        self.frame(process, address >> PAGE_SHIFT, stamp)
    }

    fn frame(&self, process: u32, number: u64, stamp: u64) -> Option<u64> {
        let process = if is_of_upper_half(number) { 0 } else { process };
        let own = self.frames.get(&(process, number))?;
        let passed = own.partition_point(|&(since, _)| since <= stamp);
        Some(own.get(passed.checked_sub(1)?)?.1)
    }
}

/// Locates addresses of one thread's run at a time.
pub enum Locator<'t> {
    /// By virtual addresses.
    Virtual(address_space::Locator<'t>),
    /// By physical addresses.
    Physical(Box<Physical<'t>>),
}

/// Locates addresses by the physical location of their pages.
pub struct Physical<'t> {
    tables: &'t PageTables,
    /// For pages without a recorded frame.
    otherwise: Option<address_space::Locator<'t>>,
    /// The process and stamp of the current run.
    process: u32,
    stamp: u64,
    /// How many changes have passed by then.
    passed: usize,
    /// Recently used pages of the current process, and the offset that locates their addresses.
    recent: [(u64, u64); RECENT],
}

/// Number of recently used pages that are cached; a page's slot is its number modulo this.
const RECENT: usize = 1024;

/// An empty slot: no page has this number.
const NO_PAGE: (u64, u64) = (u64::MAX, 0);

impl<'t> Locator<'t> {
    /// Creates a locator for this index; `None` if addresses need not be located.
    pub fn new(index: Index, spaces: &'t AddressSpaces, tables: &'t PageTables) -> Option<Self> {
        let by_virtual = spaces.locator();
        match index {
            Index::Physical if !tables.frames.is_empty() => {
                Some(Locator::Physical(Box::new(Physical {
                    tables,
                    otherwise: by_virtual,
                    process: 0,
                    stamp: 0,
                    passed: 0,
                    recent: [NO_PAGE; RECENT],
                })))
            }
            _ => by_virtual.map(Locator::Virtual),
        }
    }

    /// Begins the run of a thread with this stamp; the following addresses belong to it.
    pub fn begin_run(&mut self, thread: ThreadId, stamp: u64) {
        match self {
            Locator::Virtual(spaces) => spaces.begin_run(thread, stamp),
            Locator::Physical(pages) => pages.begin_run(thread, stamp),
        }
    }

    /// Returns the located address.
    #[inline]
    pub fn locate(&mut self, address: u64) -> u64 {
        match self {
            Locator::Virtual(spaces) => spaces.locate(address),
            Locator::Physical(pages) => pages.locate(address),
        }
    }

    /// Returns the reference of the located line.
    #[inline]
    pub fn reference(&mut self, reference: LineReference) -> LineReference {
        let address = self.locate(reference.line() << LINE_SHIFT);
        LineReference::new(address >> LINE_SHIFT, reference.kind())
    }
}

impl Physical<'_> {
    fn begin_run(&mut self, thread: ThreadId, stamp: u64) {
        if let Some(spaces) = &mut self.otherwise {
            spaces.begin_run(thread, stamp);
        }
        let process = self.tables.process_of[thread.index()];
        let passed = self
            .tables
            .changes
            .partition_point(|&change| change <= stamp);
        if (process, passed) != (self.process, self.passed) {
            self.recent.fill(NO_PAGE);
        }
        (self.process, self.stamp, self.passed) = (process, stamp, passed);
    }

    fn locate(&mut self, address: u64) -> u64 {
        let number = address >> PAGE_SHIFT;
        let recent = number as usize % RECENT;
        if self.recent[recent].0 != number {
            let start = number << PAGE_SHIFT;
            let frame = self.tables.frame(self.process, number, self.stamp);
            let located = match (frame, &mut self.otherwise) {
                (Some(frame), _) => PHYSICAL | frame << PAGE_SHIFT,
                (None, Some(spaces)) => spaces.locate(start),
                (None, None) => start,
            };
            self.recent[recent] = (number, located.wrapping_sub(start));
        }
        address.wrapping_add(self.recent[recent].1)
    }
}
