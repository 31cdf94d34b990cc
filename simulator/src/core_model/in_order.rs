//! The in-order model: every reference takes the latency of the level that served it.
//!
//! One after the other, and instructions take nothing beside their references. It is what
//! [`crate::Counters::cycles`] adds up, so that a replay with clocks and one without
//! agree on it. It overstates: a processor overlaps hits, and misses that do not wait for each
//! other.

use crate::Machine;
use crate::core_model::{CoreModel, Reference, ServedBy};
use corehop_traces::Kind;

/// A core that does one thing after the other.
#[derive(Clone, Debug)]
pub struct InOrder {
    cycle: u64,
    /// By kind and what served.
    latencies: [[u32; 5]; 3],
}

impl InOrder {
    /// A core of `machine`, at cycle 0.
    pub fn new(machine: &Machine) -> InOrder {
        let of_l1 = |l1_latency| {
            let l3 = machine.l3.map(|l3| l3.latency_cycles);
            [
                l1_latency,
                machine.l2.latency_cycles,
                l3.unwrap_or(machine.memory_latency_cycles),
                machine.transfer_latency_cycles,
                machine.memory_latency_cycles,
            ]
        };
        let data = of_l1(machine.l1d.latency_cycles);
        InOrder {
            cycle: 0,
            latencies: [of_l1(machine.l1i.latency_cycles), data, data],
        }
    }

    /// Cycles of a reference of `kind` that this level serves.
    #[inline]
    pub fn latency(&self, kind: Kind, served_by: ServedBy) -> u32 {
        self.latencies[kind as usize][served_by as usize]
    }

    /// Cycles of this reference.
    #[inline]
    pub(crate) fn cycles_of(&self, reference: Reference) -> u64 {
        let latency = self.latency(reference.kind, reference.served_by);
        u64::from(latency.max(reference.at_least_cycles))
    }

    /// Cycles until the store has its line for itself: none if it hits a line that is its own.
    #[inline]
    pub(crate) fn cycles_of_store(&self, reference: Reference) -> u64 {
        let served = match reference.served_by {
            ServedBy::L1 => 0,
            _ => self.cycles_of(reference),
        };
        match reference.takes_line {
            true => served.max(self.latency(reference.kind, ServedBy::OtherL2).into()),
            false => served,
        }
    }
}

impl CoreModel for InOrder {
    #[inline]
    fn instructions(&mut self, _count: u32) {}

    #[inline]
    fn reference(&mut self, reference: Reference) {
        self.cycle += self.cycles_of(reference);
    }

    #[inline]
    fn switch(&mut self) {}

    #[inline]
    fn wait_until(&mut self, cycle: u64) {
        self.cycle = self.cycle.max(cycle);
    }

    #[inline]
    fn cycle(&self) -> u64 {
        self.cycle
    }
}
