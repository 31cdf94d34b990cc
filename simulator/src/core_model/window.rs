//! The window model: a core that continues until its reorder buffer is full.
//!
//! An out-of-order core executes instructions at a steady rate while its reorder buffer has room,
//! and retires them in program order. A load therefore costs the part of its latency that later
//! instructions do not fill. A chain of loads costs its latencies, including those of L1 hits. The
//! interval model ([`crate::core_model::Interval`]) does not cover this: it charges the full
//! latency for a single miss and nothing for a hit. In reality each hit of a chain adds its
//! latency, and an L2's dozen cycles mostly overlap with other work. The reorder buffer as a limit
//! to the work that hides a miss: Chen and Aamodt, "Hybrid analytical modeling of pending cache
//! hits, data prefetching, and MSHRs", TACO 2011. Sniper's instruction-window-centric core: Carlson
//! et al., "An evaluation of high-level mechanistic core models", TACO 2014; this is its part about
//! loads.
//!
//! These are all rules. The clock counts in units of 1/65 536 cycle.
//!
//! - An instruction takes 65 536 / (instructions per cycle) units, rounded to the nearest whole
//!   number, at least 1, when it is announced. Its *position* is the number of instructions
//!   announced by then: all references of a code block have that of its last instruction.
//! - After instructions are announced, the core waits until all loads have left that are a window
//!   or more behind the last position.
//! - An address that no first-level TLB translates takes its *translation*: the lookup in the
//!   second level and the loads of a page walk, one after the other. It is added to the reference's
//!   latency. A fetch or store that hits counts as a miss of this latency.
//! - A fetch that misses its L1I takes the full latency of the level that served it. A fetch that
//!   hits takes nothing.
//! - A load is issued now, or when the load that its address comes from is done, whichever is
//!   later. It is done after the latency of the level that served it, including an L1. A load that
//!   the L1 serves is not done before the last load that missed the line: the line arrives then.
//!   A load leaves when it is done, but not before the previous load.
//! - A store is begun now, or when the last load before it has left, whichever is later. A store
//!   that misses is done its latency after it is begun. A store that invalidates its line in other
//!   caches is done at least a transfer's latency after it is begun, even if it hits. Neither is
//!   done before the previous store; a store that hits an owned line is done when that is. A store
//!   that finds the buffer full waits before all this, and the core with it. The buffer is full if
//!   the store that came as many stores before as the buffer has entries is not done.
//! - After a mispredicted branch, the core waits until the load that the branch depends on is done,
//!   and then takes the machine's cycles for one.
//! - A switch waits until the last load has left and the last store is done.

use crate::Machine;
use crate::core_model::arrivals::Arrivals;
use crate::core_model::latest_loads::LatestLoads;
use crate::core_model::store_buffer::StoreBuffer;
use crate::core_model::{CoreModel, InOrder, PARTS, Reference, ServedBy};
use corehop_traces::Kind;
use std::collections::VecDeque;

/// A core with a window of instructions.
#[derive(Clone, Debug)]
pub struct Window {
    now: u64,
    per_instruction: u64,
    latencies: InOrder,
    position: u64,
    window: u64,
    mispredict_cycles: u64,
    loads: LatestLoads,
    arrivals: Arrivals,
    /// Positions of loads that may not have left, and when the last load there leaves.
    held: VecDeque<(u64, u64)>,
    last_left: u64,
    stores: StoreBuffer,
}

impl Window {
    /// Creates a core of `machine` at cycle 0.
    pub fn new(machine: &Machine) -> Window {
        let core = &machine.core;
        Window {
            now: 0,
            per_instruction: crate::core_model::parts_per_instruction(core),
            latencies: InOrder::new(machine),
            position: 0,
            window: u64::from(core.reorder_window_instructions),
            mispredict_cycles: u64::from(core.mispredict_cycles) << PARTS,
            loads: LatestLoads::new(),
            arrivals: Arrivals::default(),
            held: VecDeque::new(),
            last_left: 0,
            stores: StoreBuffer::new(core),
        }
    }

    #[inline(always)]
    fn load(&mut self, reference: Reference) {
        let source_done = self.loads.source_done(reference.address_from);
        let latency = self.latencies.cycles_of(reference) << PARTS;
        let mut done = self.now.max(source_done) + latency;
        match reference.served_by {
            ServedBy::L1 => done = done.max(self.arrivals.of(reference.line, self.now)),
            _ => self.arrivals.push(reference.line, done),
        }
        self.loads.push(done);
        self.last_left = self.last_left.max(done);
        match self.held.back_mut() {
            Some((position, left)) if *position == self.position => *left = self.last_left,
            _ => self.held.push_back((self.position, self.last_left)),
        }
    }

    #[inline(always)]
    fn store(&mut self, reference: Reference) {
        self.now = self.stores.when_it_has_room(self.now);
        let begun = self.now.max(self.last_left);
        self.stores
            .push(begun, self.latencies.cycles_of_store(reference));
    }
}

impl CoreModel for Window {
    #[inline]
    fn instructions(&mut self, count: u32) {
        self.position += u64::from(count);
        self.now += u64::from(count) * self.per_instruction;
        while let Some(&(position, left)) = self.held.front()
            && position + self.window <= self.position
        {
            self.now = self.now.max(left);
            self.held.pop_front();
        }
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
        let decided = self.now.max(self.loads.source_done(depends_on));
        self.now = decided + self.mispredict_cycles;
    }

    #[inline]
    fn switch(&mut self) {
        self.now = self.now.max(self.last_left).max(self.stores.last_done());
        self.held.clear();
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
