//! Addresses as a reader is given them: of which memory they are, or where in physical memory.
//!
//! By virtual addresses a line has the number of its memory in front ([`super::address_space`]).
//! By physical ones it is where the trace says that its page is: then memory that processes share
//! is one set of lines, and so is what the kernel maps a second time. A page of which nothing is
//! said stays where it is by virtual addresses. Physical addresses have bit 63 set and the next 16
//! not, which located ones and the kernel's never have.
//!
//! Few pages are ever in another place than at first. So the pages are a table of lists, of mostly
//! one, and what a thread has used lately is forgotten only where the order of the trace passes a
//! stamp at which something changes.

use crate::model::address_space::{self, AddressSpaces, Mapping};
use crate::model::execution::LINE_SHIFT;
use crate::model::ids::ThreadId;
use crate::model::page::{PAGE_SHIFT, Page, is_of_upper_half};
use crate::model::reference::LineReference;
use crate::model::thread::Thread;
use std::collections::HashMap;

/// By which addresses lines are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Index {
    /// Virtual ones, each process's own.
    #[default]
    Virtual,
    /// Physical ones, where they are known.
    Physical,
}

/// Set in physical addresses.
const PHYSICAL: u64 = 1 << 63;

/// The physical address, if an address that a reader was given by [`Index::Physical`] is one.
pub fn physical_address(address: u64) -> Option<u64> {
    const MEMORY: u32 = address_space::ADDRESS_BITS;
    (address >> MEMORY == PHYSICAL >> MEMORY).then_some(address & !PHYSICAL)
}

/// Where the pages of all processes are in physical memory.
#[derive(Default)]
pub struct PageTables {
    /// By thread, its process.
    process_of: Vec<u32>,
    /// By process and number, since when a page is where; ascending by stamp.
    frames: HashMap<(u32, u64), Vec<(u64, u64)>>,
    /// Stamps at which any page, or any mapping, is not where it was before; ascending.
    changes: Vec<u64>,
}

impl PageTables {
    /// Those of the processes of `threads`.
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
        // Of equal stamps the later holds, so their order stays.
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

    /// Stamps from which on some page is elsewhere.
    pub fn changes(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().copied()
    }

    /// Where the page is that a thread has at a virtual address, in its run with this stamp.
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

/// Locates addresses, of one thread at one time after another's.
pub enum Locator<'t> {
    /// By virtual addresses.
    Virtual(address_space::Locator<'t>),
    /// By physical ones.
    Physical(Box<Physical<'t>>),
}

/// Locates addresses by where their pages are.
pub struct Physical<'t> {
    tables: &'t PageTables,
    /// For pages of which nothing is said.
    otherwise: Option<address_space::Locator<'t>>,
    /// Of the run.
    process: u32,
    stamp: u64,
    /// How many changes have passed by then.
    passed: usize,
    /// Pages of the process that runs, and what is added to their addresses.
    recent: [(u64, u64); RECENT],
}

/// Numbers of recently used pages are kept at their number modulo this.
const RECENT: usize = 1024;

/// No page has this number.
const NO_PAGE: (u64, u64) = (u64::MAX, 0);

impl<'t> Locator<'t> {
    /// What locates addresses in this way; `None` where they stay what they are.
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

    /// From now on addresses are of a thread's run with this stamp.
    pub fn begin_run(&mut self, thread: ThreadId, stamp: u64) {
        match self {
            Locator::Virtual(spaces) => spaces.begin_run(thread, stamp),
            Locator::Physical(pages) => pages.begin_run(thread, stamp),
        }
    }

    /// The located address.
    #[inline]
    pub fn locate(&mut self, address: u64) -> u64 {
        match self {
            Locator::Virtual(spaces) => spaces.locate(address),
            Locator::Physical(pages) => pages.locate(address),
        }
    }

    /// The reference of the located line.
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
