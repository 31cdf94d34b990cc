//! Identifies the memory that an address belongs to, in a trace of several processes.
//!
//! Forked processes use the same addresses for private memory, and one segment may be mapped at
//! different addresses in each. An address alone therefore does not identify a line. Each process's
//! private memory has a number, and so has each object that processes share, such as the pages of a
//! file. An address is *located* by putting that number into its bits from 47 on, as a processor
//! tags its entries with address-space identifiers. Two located addresses are equal exactly if they
//! are the same byte, so code that counts lines needs no knowledge of processes.
//!
//! The first process's private memory has number 0. An object keeps the addresses of its first
//! mapping, so most addresses do not change. Pages keep their offsets: processes share the sets of
//! a cache as they do with virtual addresses. Rejected: numbering pages in order of appearance, as
//! physical memory does. Then equal recordings would map to different sets.

use crate::model::ids::ThreadId;
use crate::model::malformed::Malformed;
use crate::model::page::PAGE_SHIFT;
use crate::model::thread::Thread;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// A mapping of a process at a range of addresses, valid from one stamp on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The operating system's number of the process.
    pub process_id: u32,
    /// The mapping holds for runs with this stamp and later ones. If stamps are equal, the later
    /// mapping in the trace holds.
    pub since: u64,
    /// First address, a multiple of 4096.
    pub start: u64,
    /// End, exclusive: a multiple of 4096, at most 2^47.
    pub end: u64,
    /// Number of the shared object; `None` for the process's private memory.
    pub object: Option<u32>,
    /// Offset of `start` in the object in bytes, a multiple of 4096 below 2^47.
    pub offset: u64,
}

/// Maximum number of shared objects in a trace.
pub const MAX_OBJECTS: u32 = 1 << 15;

/// Number of private memories; a trace of more processes reuses their numbers.
const MAX_PROCESSES: u64 = 1 << 15;

/// Bits of an address that user code can use; the remaining bits are the number of its memory.
pub(super) const ADDRESS_BITS: u32 = 47;

impl Mapping {
    /// Returns whether the mapping covers whole pages, at addresses that user code can use.
    pub fn is_of_whole_pages(&self) -> bool {
        let limit = 1 << ADDRESS_BITS;
        let all = self.start | self.end | self.offset;
        let is_range = self.start < self.end && self.end <= limit && self.offset < limit;
        is_range && all.is_multiple_of(1 << PAGE_SHIFT)
    }

    /// Checks the mapping, in a trace with this many shared objects.
    pub(crate) fn check(&self, objects: u32) -> Result<(), Malformed> {
        if !self.is_of_whole_pages() {
            let (start, end, offset) = (self.start, self.end, self.offset);
            return Err(Malformed::NoWholePages { start, end, offset });
        }
        match self.object.filter(|&object| object >= objects) {
            Some(object) => Err(Malformed::NoSuchObject { object }),
            None => Ok(()),
        }
    }
}

/// The owner of the memory that a located address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The trace does not distinguish memories.
    Anyone,
    /// Private memory of the process with this number.
    Process(u32),
    /// The shared object with this number.
    Object(u32),
}

/// The address spaces of all processes of a trace.
#[derive(Default)]
pub struct AddressSpaces {
    /// Process of each thread; empty if one address is the same byte in every process.
    process_of: Vec<u32>,
    processes: Vec<Process>,
}

struct Process {
    id: u32,
    /// Where its private memory is.
    own: Place,
    /// In ascending order of stamps.
    changes: Vec<Change>,
}

#[derive(Clone, Copy)]
struct Change {
    since: u64,
    start: u64,
    end: u64,
    place: Place,
}

/// The memory that a range of addresses belongs to, and its location in it.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the memory.
    memory: u64,
    /// Added to an address, modulo 2^47, gives the address in that memory.
    distance: u64,
}

impl Place {
    fn located(self, address: u64) -> u64 {
        let within = address.wrapping_add(self.distance) & ((1 << ADDRESS_BITS) - 1);
        self.memory << ADDRESS_BITS | within
    }
}

impl AddressSpaces {
    /// Builds the address spaces of the processes of `threads`; `mappings` are in trace order.
    pub fn new(threads: &[Thread], mappings: &[Mapping]) -> AddressSpaces {
        let mut processes: Vec<Process> = Vec::new();
        let mut places = HashMap::new();
        let mut process_of = Vec::new();
        for thread in threads {
            let place = *places.entry(thread.process_id).or_insert_with(|| {
                let memory = processes.len() as u64 % MAX_PROCESSES;
                let distance = 0;
                processes.push(Process {
                    id: thread.process_id,
                    own: Place { memory, distance },
                    changes: Vec::new(),
                });
                processes.len() as u32 - 1
            });
            process_of.push(place);
        }
        if processes.len() < 2 {
            return AddressSpaces::default();
        }
        // If stamps are equal, the later mapping holds; a stable sort keeps their order.
        let mut mappings = mappings.to_vec();
        mappings.sort_by_key(|mapping| mapping.since);
        let mut biases = HashMap::new();
        for mapping in mappings {
            let bias = mapping.object.map(|object| {
                let first = mapping.start.wrapping_sub(mapping.offset);
                (object, *biases.entry(object).or_insert(first))
            });
            let Some(&place) = places.get(&mapping.process_id) else {
                continue;
            };
            let process = &mut processes[place as usize];
            let place = bias.map_or(process.own, |(object, bias)| Place {
                memory: MAX_PROCESSES + u64::from(object),
                distance: mapping
                    .offset
                    .wrapping_add(bias)
                    .wrapping_sub(mapping.start),
            });
            process.changes.push(Change {
                since: mapping.since,
                start: mapping.start,
                end: mapping.end,
                place,
            });
        }
        AddressSpaces {
            process_of,
            processes,
        }
    }

    /// Returns the stamps at which a mapping of a thread's process changes.
    pub fn changes_of(&self, thread: ThreadId) -> impl Iterator<Item = u64> {
        let place = self.process_of.get(thread.index());
        let changes = place.map(|&place| &self.processes[place as usize].changes);
        let stamps = changes.into_iter().flatten().map(|change| change.since);
        stamps.filter(|&since| since > 0)
    }

    /// Returns the owner of a located address, and the address in that memory.
    pub fn owner(&self, address: u64) -> (Owner, u64) {
        let number = address >> ADDRESS_BITS;
        let within = address & ((1 << ADDRESS_BITS) - 1);
        match number.checked_sub(MAX_PROCESSES) {
            _ if self.processes.is_empty() => (Owner::Anyone, address),
            Some(object) if object < MAX_OBJECTS.into() => (Owner::Object(object as u32), within),
            Some(_) => (Owner::Anyone, address),
            None => match self.processes.get(number as usize) {
                Some(process) => (Owner::Process(process.id), within),
                None => (Owner::Anyone, address),
            },
        }
    }

    /// Returns a locator; `None` if addresses need not be located.
    pub fn locator(&self) -> Option<Locator<'_>> {
        if self.processes.is_empty() {
            return None;
        }
        let spaces = self.processes.iter().map(|_| None);
        Some(Locator {
            all: self,
            spaces: spaces.collect(),
            current: 0,
        })
    }
}

/// Locates addresses of one thread's run at a time.
pub struct Locator<'t> {
    all: &'t AddressSpaces,
    /// Address space of each process; `None` until one of its threads has run.
    spaces: Vec<Option<Space>>,
    /// The process of the current run.
    current: usize,
}

/// Number of recently used pages that are cached; a page's slot is its number modulo this.
const RECENT: usize = 256;

/// One process's address space at one time.
struct Space {
    /// How many of the process's changes are applied.
    changes: usize,
    /// By start address: the end, and the place of the range.
    layout: BTreeMap<u64, (u64, Place)>,
    /// Recently used pages, and the offset that locates their addresses.
    recent: Box<[(u64, u64); RECENT]>,
}

/// An empty slot: no page has this number.
const NO_PAGE: (u64, u64) = (u64::MAX, 0);

impl Space {
    fn new() -> Space {
        Space {
            changes: 0,
            layout: BTreeMap::new(),
            recent: Box::new([NO_PAGE; RECENT]),
        }
    }

    fn apply(&mut self, change: &Change) {
        let Change { start, end, .. } = *change;
        let before = self.layout.range(..start).next_back();
        if let Some((&first, &(last, place))) = before
            && last > start
        {
            self.layout.insert(first, (start, place));
            if last > end {
                self.layout.insert(end, (last, place));
            }
        }
        while let Some((&first, &(last, place))) = self.layout.range(start..end).next() {
            self.layout.remove(&first);
            if last > end {
                self.layout.insert(end, (last, place));
            }
        }
        self.layout.insert(start, (end, change.place));
        self.recent.fill(NO_PAGE);
    }

    fn place_of(&self, address: u64) -> Option<Place> {
        let (_, &(end, place)) = self.layout.range(..=address).next_back()?;
        (address < end).then_some(place)
    }
}

impl Locator<'_> {
    /// Begins the run of a thread with this stamp; the following addresses belong to it.
    pub fn begin_run(&mut self, thread: ThreadId, stamp: u64) {
        self.current = self.all.process_of[thread.index()] as usize;
        let changes = &self.all.processes[self.current].changes;
        let space = self.spaces[self.current].get_or_insert_with(Space::new);
        let later = |space: &Space| changes[space.changes..].iter().map(|change| change.since);
        if later(space).next().is_none_or(|since| since > stamp) {
            let passed = changes[..space.changes].last();
            if passed.is_none_or(|change| change.since <= stamp) {
                return;
            }
            // The run is earlier than the previous one.
            *space = Space::new();
        }
        while let Some(change) = changes.get(space.changes)
            && change.since <= stamp
        {
            space.apply(change);
            space.changes += 1;
        }
    }

    /// Returns the located address.
    #[inline]
    pub fn locate(&mut self, address: u64) -> u64 {
        let page = address >> PAGE_SHIFT;
        let process = &self.all.processes[self.current];
        let Some(space) = &mut self.spaces[self.current] else {
            return address;
        };
        let recent = page as usize % RECENT;
        if space.recent[recent].0 != page {
            let start = page << PAGE_SHIFT;
            let place = space.place_of(start).unwrap_or(process.own);
            // The kernel's half of the addresses is the same for all processes.
            let located = match address >> ADDRESS_BITS {
                0 => place.located(start),
                _ => start,
            };
            space.recent[recent] = (page, located.wrapping_sub(start));
        }
        address.wrapping_add(space.recent[recent].1)
    }
}

#[cfg(test)]
mod tests;
