//! Which memory an address is of, in a trace of several processes.
//!
//! Forked processes use the same addresses for memory of their own, and one segment may lie at
//! different addresses in each, so an address alone does not name a line. Every memory therefore
//! has a number: each process's own has one, and each object that processes share, such as the
//! pages of a file. An address is *located* by putting that number into its bits from 47 on, as a
//! processor tags its entries with address-space identifiers. Equal located addresses are the same
//! byte and others are not, so whatever counts lines needs to know nothing of processes.
//!
//! The first process's own memory has number 0, and an object keeps the addresses that it had where
//! it was first mapped, so that most addresses stay what they were. Pages keep their offsets:
//! processes meet in the sets of a cache as they would by virtual addresses. Rejected: to number
//! pages as they come, as physical memory does; then equal recordings would meet in different sets.

use crate::model::ids::ThreadId;
use crate::model::malformed::Malformed;
use crate::model::page::PAGE_SHIFT;
use crate::model::thread::Thread;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// What a process has at some of its addresses, from one stamp on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The operating system's number of the process.
    pub process_id: u32,
    /// Holds for the runs with this stamp and later ones; of mappings with equal stamps, the later
    /// in the trace holds.
    pub since: u64,
    /// First address, a multiple of 4096.
    pub start: u64,
    /// End, exclusive: a multiple of 4096, at most 2^47.
    pub end: u64,
    /// Number of the shared object; `None` for memory of the process's own.
    pub object: Option<u32>,
    /// Place of `start` in the object in bytes, a multiple of 4096 below 2^47.
    pub offset: u64,
}

/// The most shared objects of a trace.
pub const MAX_OBJECTS: u32 = 1 << 15;

/// Memories of processes' own; a trace of more processes uses their numbers again.
const MAX_PROCESSES: u64 = 1 << 15;

/// Bits of an address that user code can have; the rest is the number of its memory.
pub(super) const ADDRESS_BITS: u32 = 47;

impl Mapping {
    /// Whether it is of whole pages, at addresses that user code can have.
    pub fn is_of_whole_pages(&self) -> bool {
        let limit = 1 << ADDRESS_BITS;
        let all = self.start | self.end | self.offset;
        let is_range = self.start < self.end && self.end <= limit && self.offset < limit;
        is_range && all.is_multiple_of(1 << PAGE_SHIFT)
    }

    /// What makes it no mapping, if anything, in a trace of so many shared objects.
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

/// Whose memory a located address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The trace tells no memories apart.
    Anyone,
    /// The process with this number, alone.
    Process(u32),
    /// The shared object with this number.
    Object(u32),
}

/// The address spaces of all processes of a trace.
#[derive(Default)]
pub struct AddressSpaces {
    /// By thread, its process; empty where one address is one byte, whoever uses it.
    process_of: Vec<u32>,
    processes: Vec<Process>,
}

struct Process {
    id: u32,
    /// Where its own memory is.
    own: Place,
    /// By ascending stamp.
    changes: Vec<Change>,
}

#[derive(Clone, Copy)]
struct Change {
    since: u64,
    start: u64,
    end: u64,
    place: Place,
}

/// Where in which memory a range of addresses is.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the memory.
    memory: u64,
    /// Added to an address, modulo all that there are, it is the address in that memory.
    distance: u64,
}

impl Place {
    fn located(self, address: u64) -> u64 {
        let within = address.wrapping_add(self.distance) & ((1 << ADDRESS_BITS) - 1);
        self.memory << ADDRESS_BITS | within
    }
}

impl AddressSpaces {
    /// Those of the processes of `threads`, which have these mappings, in the order of the trace.
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
        // Of mappings with equal stamps the later holds, so their order stays.
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

    /// Stamps from which on a thread's process has something else at some address.
    pub fn changes_of(&self, thread: ThreadId) -> impl Iterator<Item = u64> {
        let place = self.process_of.get(thread.index());
        let changes = place.map(|&place| &self.processes[place as usize].changes);
        let stamps = changes.into_iter().flatten().map(|change| change.since);
        stamps.filter(|&since| since > 0)
    }

    /// Whose memory a located address is of, and the address there.
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

    /// What locates addresses; `None` where they need not be.
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

/// Locates addresses, of one thread at one time after another's.
pub struct Locator<'t> {
    all: &'t AddressSpaces,
    /// By process, once one of its threads has run.
    spaces: Vec<Option<Space>>,
    /// The process that runs.
    current: usize,
}

/// Numbers of recently used pages are kept at their number modulo this.
const RECENT: usize = 256;

/// One process's address space, as it is at one time.
struct Space {
    /// How many of the process's changes hold.
    changes: usize,
    /// By start: the end, and where what is between is.
    layout: BTreeMap<u64, (u64, Place)>,
    /// Pages, and what is added to their addresses.
    recent: Box<[(u64, u64); RECENT]>,
}

/// No page has this number.
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
    /// From now on addresses are of a thread's run with this stamp.
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
            // An earlier run than the last one.
            *space = Space::new();
        }
        while let Some(change) = changes.get(space.changes)
            && change.since <= stamp
        {
            space.apply(change);
            space.changes += 1;
        }
    }

    /// The located address.
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
            // The kernel's half of addresses is one for all processes.
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
