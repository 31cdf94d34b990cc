//! The object on the heap at each address, at each moment of a replay.
//!
//! A trace records when objects begin and end. [`LiveObjects`] applies these events up to a run's
//! stamp, and finds the object that an access is to. Objects are disjoint ranges in a sorted map: a
//! lookup takes microseconds at most, and a line that lies in one object needs one until its memory
//! changes. Rejected: a table of all words of the heap, which a server's reserved gigabytes
//! overflow.

use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::{AllocatedObject, HeapEvent, Trace};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Bits of an address within one memory ([`Trace::owner`]).
const ADDRESS_BITS: u32 = 47;

/// What memory that an allocator has returned is at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum HeapMemory {
    /// A part of the object that this event began, by its index in [`Trace::heap_events`].
    Object(u32),
    /// A part of an object that has ended.
    Freed,
}

/// The objects of all processes at one moment.
pub(crate) struct LiveObjects<'t> {
    events: &'t [HeapEvent],
    /// How many events have happened.
    passed: usize,
    /// By process: the address of its memory's first byte, as a reader receives it.
    memories: HashMap<u32, u64>,
    /// By first byte: the end, and what it is. Disjoint.
    ranges: BTreeMap<u64, (u64, HeapMemory)>,
}

impl<'t> LiveObjects<'t> {
    /// Before the first event of a trace.
    pub fn of(trace: &'t Trace) -> LiveObjects<'t> {
        let mut memories = HashMap::new();
        // Without address spaces, all processes are in one memory.
        let is_separate = trace.header().has_address_spaces;
        for thread in trace.threads() {
            let number = memories.len() as u64 * u64::from(is_separate);
            memories
                .entry(thread.process_id)
                .or_insert(number << ADDRESS_BITS);
        }
        LiveObjects {
            events: trace.heap_events(),
            passed: 0,
            memories,
            ranges: BTreeMap::new(),
        }
    }

    /// Applies all events before a run with this stamp. Passes the ranges to `changed` in which
    /// memory is something else than before.
    pub fn advance(&mut self, stamp: u64, mut changed: impl FnMut(Range<u64>)) {
        while let Some(event) = self.events.get(self.passed)
            && event.since <= stamp
        {
            // A process without a recorded thread accesses nothing.
            if let Some(&memory) = self.memories.get(&event.process_id) {
                self.apply(event, memory | event.address, &mut changed);
            }
            self.passed += 1;
        }
    }

    fn apply(&mut self, event: &HeapEvent, start: u64, changed: &mut impl FnMut(Range<u64>)) {
        let end = start + event.size_bytes;
        match event.object {
            // An object of no bytes overlaps nothing.
            Some(_) if start < end => {
                self.free(start..end, Rest::Freed, changed);
                self.clear(start..end);
                let object = HeapMemory::Object(self.passed as u32);
                self.ranges.insert(start, (end, object));
                changed(start..end);
            }
            Some(_) => {}
            None if start < end => self.free(start..end, Rest::Live, changed),
            None => {
                if let Some((end, memory @ HeapMemory::Object(_))) = self.ranges.get_mut(&start) {
                    *memory = HeapMemory::Freed;
                    changed(start..*end);
                }
            }
        }
    }

    /// Frees the objects in a range; `rest` is what remains of them outside.
    fn free(&mut self, range: Range<u64>, rest: Rest, changed: &mut impl FnMut(Range<u64>)) {
        for (start, end, memory) in self.overlapping(&range) {
            if memory == HeapMemory::Freed {
                continue;
            }
            let outside = match rest {
                Rest::Live => memory,
                Rest::Freed => HeapMemory::Freed,
            };
            self.ranges.remove(&start);
            let (inner_start, inner_end) = (start.max(range.start), end.min(range.end));
            for (start, end, memory) in [
                (start, inner_start, outside),
                (inner_start, inner_end, HeapMemory::Freed),
                (inner_end, end, outside),
            ] {
                if start < end {
                    self.ranges.insert(start, (end, memory));
                }
            }
            changed(start..end);
        }
    }

    /// Removes a range from all others.
    fn clear(&mut self, range: Range<u64>) {
        for (start, end, memory) in self.overlapping(&range) {
            self.ranges.remove(&start);
            if start < range.start {
                self.ranges.insert(start, (range.start, memory));
            }
            if range.end < end {
                self.ranges.insert(range.end, (end, memory));
            }
        }
    }

    fn overlapping(&self, range: &Range<u64>) -> Vec<(u64, u64, HeapMemory)> {
        let below = self.ranges.range(..range.start).next_back();
        let within = self.ranges.range(range.clone());
        let all = below.into_iter().chain(within);
        let all = all.map(|(&start, &(end, memory))| (start, end, memory));
        all.filter(|&(_, end, _)| end > range.start).collect()
    }

    /// Returns the object that holds the byte at an address of an access: its range, and the event
    /// that began it.
    pub fn object_at(&self, address: u64) -> Option<(Range<u64>, u32)> {
        match self.at(address)? {
            (bytes, HeapMemory::Object(event)) => Some((bytes, event)),
            (_, HeapMemory::Freed) => None,
        }
    }

    /// Returns what the byte at an address of an access belongs to, with all its bytes; `None` for
    /// memory that no allocator has returned.
    pub fn at(&self, address: u64) -> Option<(Range<u64>, HeapMemory)> {
        let (&start, &(end, memory)) = self.ranges.range(..=address).next_back()?;
        (address < end).then_some((start..end, memory))
    }

    /// Returns what a whole line is, by its number.
    pub fn of_line(&self, line: u64) -> HeapLine {
        let (first, end) = (line << LINE_SHIFT, (line + 1) << LINE_SHIFT);
        let mut below = self.ranges.range(..end);
        match below.next_back() {
            Some((&start, &(its_end, memory))) if its_end > first => {
                match start <= first && end <= its_end {
                    true => HeapLine::Whole(memory),
                    false => HeapLine::Several,
                }
            }
            _ => HeapLine::Other,
        }
    }
}

/// What remains of an object of which a part is freed.
#[derive(Clone, Copy)]
enum Rest {
    Live,
    Freed,
}

/// What a line is.
pub(crate) enum HeapLine {
    /// Nothing that an allocator has returned.
    Other,
    /// One thing.
    Whole(HeapMemory),
    /// Several things; the address selects one.
    Several,
}

/// The places that made objects, numbered, with what they made.
#[derive(Default)]
pub(crate) struct Sites {
    /// By number.
    pub all: Vec<(AllocatedObject, Made)>,
    /// By event: the number of its object's site.
    of_event: Vec<u32>,
}

/// The objects of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Made {
    /// Number of objects, in the trace and before.
    pub objects: u64,
    /// Their size in bytes together.
    pub bytes: u64,
}

impl std::ops::AddAssign for Made {
    fn add_assign(&mut self, other: Made) {
        self.objects += other.objects;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Sites {
    /// Collects the places of a trace.
    pub fn of(trace: &Trace) -> Sites {
        let mut sites = Sites::default();
        let mut numbers = HashMap::new();
        for event in trace.heap_events() {
            let number = event.object.map_or(0, |object| {
                let number = *numbers.entry(object).or_insert(sites.all.len());
                if number == sites.all.len() {
                    sites.all.push((object, Made::default()));
                }
                sites.all[number].1 += Made {
                    objects: 1,
                    bytes: event.size_bytes,
                };
                number as u32
            });
            sites.of_event.push(number);
        }
        sites
    }

    /// Returns the number of the place that made the object of an event.
    pub fn of_object(&self, event: u32) -> u32 {
        self.of_event[event as usize]
    }
}
