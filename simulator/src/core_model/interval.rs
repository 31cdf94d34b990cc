//! The interval model: instructions execute at a base rate, and misses stop the core, one or
//! several at a time.
//!
//! An out-of-order core executes instructions at a steady rate until a miss stops it. Its time is
//! thus the intervals between misses plus the cost of the misses (Karkhanis and Smith, "A
//! first-order superscalar processor model", ISCA 2004; Eyerman et al., "A mechanistic performance
//! model for superscalar out-of-order processors", TOCS 2009; Carlson et al., "Sniper", SC 2011).
//! Loads that miss close to each other wait together, unless one depends on another.
//!
//! These are all rules. The clock counts in units of 1/65 536 cycle.
//!
//! - An instruction takes 65 536 / (instructions per cycle) units, rounded to the nearest whole
//!   number, at least 1, when it is announced. Its *position* is the number of instructions
//!   announced by then: all references of a code block have that of its last instruction.
//! - An address that no first-level TLB translates takes its *translation*: the lookup in the
//!   second level and the loads of a page walk, one after the other. A reference that misses has it
//!   added to its latency. A reference that hits counts as a miss of this latency.
//! - A fetch that misses its L1I takes the full latency of the level that served it, regardless of
//!   other outstanding references. A fetch that hits takes nothing.
//! - Loads are timed on a second clock, the *stalls*: the cycles for which loads have stopped the
//!   core so far, from 0. It records when each load is *done*, and when the current *group* of
//!   loads that wait together began. A group has the position of its first load. Initially there is
//!   no group.
//! - A load that the L1D serves also waits for the last load that missed its line, as if its
//!   address came from both: the line arrives when that one is done.
//! - A load that hits its L1D is done when the loads that it waits for are done, or at 0 if there
//!   is none. It takes nothing.
//! - A load that misses begins a group at the current stalls if there is none, or if its position
//!   is a reorder window or more behind the group's. It is issued when its group began, or when the
//!   loads that it waits for are done, whichever is later. If that is not before the
//!   current stalls, nothing is outstanding, and it also begins a group. It is done its latency
//!   after it is issued. If that is later than the current stalls, the core stops for the
//!   difference.
//! - A single miss thus costs its latency, as does one that depends on the previous miss. A miss
//!   that waits together with a longer one costs nothing.
//! - A store that misses leaves the core through the store buffer, in order, while the core
//!   continues. It is done its latency after now, but not before the previous store. A store that
//!   hits is done when the previous store is. A store that invalidates its line in other caches is
//!   done at least a transfer's latency after now, even if it hits, because it waits for the
//!   invalidation. A store that finds the buffer full waits first. The buffer is full if the store
//!   that came as many stores before as the buffer has entries is not done.
//! - A mispredicted branch takes the machine's cycles for one. If it depends on a load, there is no
//!   group afterwards: later loads are not issued before that one is done.
//! - A switch waits for the last store. Afterwards there is no group.

use crate::Machine;
use crate::core_model::arrivals::Arrivals;
use crate::core_model::latest_loads::LatestLoads;
use crate::core_model::store_buffer::StoreBuffer;
use crate::core_model::{CoreModel, InOrder, PARTS, Reference, ServedBy};
use corehop_traces::Kind;

/// A core that overlaps independent misses.
#[derive(Clone, Debug)]
pub struct Interval {
    now: u64,
    per_instruction: u64,
    latencies: InOrder,
    position: u64,
    stalls: u64,
    group_began: u64,
    /// The first position that no longer belongs to the group.
    group_ends: u64,
    window: u64,
    mispredict_cycles: u64,
    loads: LatestLoads,
    arrivals: Arrivals,
    stores: StoreBuffer,
}

impl Interval {
    /// Creates a core of `machine` at cycle 0.
    pub fn new(machine: &Machine) -> Interval {
        let core = &machine.core;
        Interval {
            now: 0,
            per_instruction: crate::core_model::parts_per_instruction(core),
            latencies: InOrder::new(machine),
            position: 0,
            stalls: 0,
            group_began: 0,
            group_ends: 0,
            window: u64::from(core.reorder_window_instructions),
            mispredict_cycles: u64::from(core.mispredict_cycles) << PARTS,
            loads: LatestLoads::new(),
            arrivals: Arrivals::default(),
            stores: StoreBuffer::new(core),
        }
    }

    /// Returns the cycles for which load misses have stopped the core.
    pub fn load_stalls(&self) -> u64 {
        self.stalls
    }

    #[inline(always)]
    fn load(&mut self, reference: Reference) {
        let mut source_done = self.loads.source_done(reference.address_from);
        let is_served = reference.served_by == ServedBy::L1;
        if is_served {
            source_done = source_done.max(self.arrivals.of(reference.line, 0));
        }
        let done = match is_served && reference.translation_cycles == 0 {
            true => source_done,
            false => self.missing_load(self.latencies.cycles_of_miss(reference), source_done),
        };
        if !is_served {
            self.arrivals.push(reference.line, done);
        }
        self.loads.push(done);
    }

    /// Returns when it is done.
    fn missing_load(&mut self, cycles: u64, source_done: u64) -> u64 {
        if self.position >= self.group_ends {
            self.begin_group();
        }
        let issued = self.group_began.max(source_done);
        if issued >= self.stalls {
            self.begin_group();
        }
        let done = issued + cycles;
        let stop = done.saturating_sub(self.stalls);
        self.stalls += stop;
        self.now += stop << PARTS;
        done
    }

    fn begin_group(&mut self) {
        self.group_began = self.stalls;
        self.group_ends = self.position + self.window;
    }

    #[inline(always)]
    fn store(&mut self, reference: Reference) {
        self.now = self.stores.when_it_has_room(self.now);
        self.stores
            .push(self.now, self.latencies.cycles_of_store(reference));
    }
}

impl CoreModel for Interval {
    #[inline]
    fn instructions(&mut self, count: u32) {
        self.position += u64::from(count);
        self.now += u64::from(count) * self.per_instruction;
    }

    #[inline]
    fn reference(&mut self, reference: Reference) {
        match reference.kind {
            Kind::Fetch => self.now += self.latencies.cycles_of_miss(reference) << PARTS,
            Kind::Load => self.load(reference),
            Kind::Store => self.store(reference),
        }
    }

    #[inline]
    fn mispredicted(&mut self, depends_on: u8) {
        self.now += self.mispredict_cycles;
        if depends_on != 0 {
            self.group_ends = 0;
        }
    }

    #[inline]
    fn switch(&mut self) {
        self.now = self.now.max(self.stores.last_done());
        self.group_ends = 0;
    }

    #[inline]
    fn wait_until(&mut self, cycle: u64) {
        self.now = self.now.max(cycle.saturating_mul(1 << PARTS));
    }

    #[inline]
    fn cycle(&self) -> u64 {
        self.now >> PARTS
    }
}
