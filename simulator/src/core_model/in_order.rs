//! The in-order model: every reference takes the latency of the level that served it.
//!
//! References do not overlap, and instructions take no time besides their references. Without
//! address translation, it computes the same sum as [`crate::Counters::cycles`], so replays with
//! and without clocks agree. It overestimates: a processor overlaps hits and independent misses.

use crate::Machine;
use crate::core_model::{CoreModel, Reference, ServedBy};
use corehop_traces::Kind;

/// A core without overlap.
#[derive(Clone, Debug)]
pub struct InOrder {
    cycle: u64,
    mispredict_cycles: u64,
    /// By kind and by the level that served the reference.
    latencies: [[u32; 5]; 3],
}

impl InOrder {
    /// Creates a core of `machine` at cycle 0.
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
            mispredict_cycles: machine.core.mispredict_cycles.into(),
            latencies: [of_l1(machine.l1i.latency_cycles), data, data],
        }
    }

    /// Returns the cycles of a reference of `kind` that this level serves.
    #[inline]
    pub fn latency(&self, kind: Kind, served_by: ServedBy) -> u32 {
        self.latencies[kind as usize][served_by as usize]
    }

    /// Returns the cycles of this reference.
    #[inline]
    pub(crate) fn cycles_of(&self, reference: Reference) -> u64 {
        let latency = self.latency(reference.kind, reference.served_by);
        u64::from(latency.max(reference.at_least_cycles)) + u64::from(reference.translation_cycles)
    }

    /// Returns the cycles of this reference if hits in an L1 take no time.
    #[inline]
    pub(crate) fn cycles_of_miss(&self, reference: Reference) -> u64 {
        match reference.served_by {
            ServedBy::L1 => reference.translation_cycles.into(),
            _ => self.cycles_of(reference),
        }
    }

    /// Returns the cycles until the store owns its line: zero if a TLB of the first level and its
    /// L1 serve it, and the core owns the line.
    #[inline]
    pub(crate) fn cycles_of_store(&self, reference: Reference) -> u64 {
        let served = self.cycles_of_miss(reference);
        let transfer = self.latency(reference.kind, ServedBy::OtherL2);
        match reference.takes_line {
            true => served.max(u64::from(transfer) + u64::from(reference.translation_cycles)),
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
    fn mispredicted(&mut self, _depends_on: u8) {
        self.cycle += self.mispredict_cycles;
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
