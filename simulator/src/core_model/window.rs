//! The window model: a core that goes on until its reorder buffer is full.
//!
//! An out-of-order core takes instructions at a steady rate, whatever they wait for, as long as its
//! reorder buffer has room; it gives room again in the order of the program. So a load costs what
//! of its latency the instructions behind it do not fill, and a chain of loads its latencies, hits
//! in an L1 too. That is what the interval model ([`crate::core_model::Interval`]) leaves out,
//! which charges a miss by itself in full, and a hit nothing: a chain of hits takes a step for
//! each, and an L2's dozen cycles mostly go by behind other work. The reorder buffer as a limit to
//! how much work a miss hides: Chen and Aamodt, "Hybrid analytical modeling of pending cache hits,
//! data prefetching, and MSHRs", TACO 2011; Sniper's instruction-window-centric core, Carlson et
//! al., "An evaluation of high-level mechanistic core models", TACO 2014, of which this is the part
//! about loads.
//!
//! These are all rules. The clock counts 65 536ths of a cycle.
//!
//! - An instruction takes 65 536 / (instructions per cycle) of these, rounded to the nearest whole
//!   number, at least 1, when it is announced. Its *position* is the number of instructions
//!   announced by then: all references of a code block have that of its last instruction.
//! - When instructions have been announced, the core waits until all loads have left that lie a
//!   window or more behind the last position.
//! - A fetch that misses its L1I takes the latency of what served it, in full. One that hits takes
//!   nothing.
//! - A load is issued now, or when the load is done that its address comes from, whichever is
//!   later, and is done the latency after that of what served it, of an L1 too. It leaves then, but
//!   not before the load before it.
//! - A store is begun now, or when the last load before it has left, whichever is later. One that
//!   misses is done its latency after it is begun, one that takes its line from other caches at
//!   least a transfer's latency after that, even if it hits; but none before the store before it,
//!   and one that hits a line of its own when that is. A store that finds the buffer full, because
//!   the store is not done that came as many stores before as the buffer has entries, waits for
//!   that one before all this, and the core with it.
//! - A switch waits for the last load to have left and for the last store to be done.

use crate::Machine;
use crate::core_model::latest_loads::LatestLoads;
use crate::core_model::store_buffer::StoreBuffer;
use crate::core_model::{CoreModel, InOrder, PARTS, Reference, ServedBy};
use corehop_traces::Kind;
use std::collections::VecDeque;

/// A core that holds a window of instructions.
#[derive(Clone, Debug)]
pub struct Window {
    now: u64,
    per_instruction: u64,
    latencies: InOrder,
    position: u64,
    window: u64,
    loads: LatestLoads,
    /// Positions at which there are loads that may not have left, and when the last there leaves.
    held: VecDeque<(u64, u64)>,
    last_left: u64,
    stores: StoreBuffer,
}

impl Window {
    /// A core of `machine`, at cycle 0.
    pub fn new(machine: &Machine) -> Window {
        let core = &machine.core;
        Window {
            now: 0,
            per_instruction: crate::core_model::parts_per_instruction(core),
            latencies: InOrder::new(machine),
            position: 0,
            window: u64::from(core.reorder_window_instructions),
            loads: LatestLoads::new(),
            held: VecDeque::new(),
            last_left: 0,
            stores: StoreBuffer::new(core),
        }
    }

    #[inline(always)]
    fn load(&mut self, reference: Reference) {
        let source_done = self.loads.source_done(reference.address_from);
        let latency = self.latencies.cycles_of(reference) << PARTS;
        let done = self.now.max(source_done) + latency;
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
            Kind::Fetch if reference.served_by == ServedBy::L1 => {}
            Kind::Fetch => self.now += self.latencies.cycles_of(reference) << PARTS,
            Kind::Load => self.load(reference),
            Kind::Store => self.store(reference),
        }
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
