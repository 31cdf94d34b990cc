//! The sums of one part of an analysed replay: a function, a segment, or a mode of the processor.

use crate::machine::Machine;
use crate::report::counters::Counters;
use crate::report::tally::Tally;
use crate::report::tlb_counters::TlbCounters;

/// The sums of one part of the program.
#[derive(Clone, Default)]
pub(super) struct Sums {
    pub entries: u64,
    pub accesses: [u64; 3],
    pub hops: u64,
    pub tally: Tally,
    pub tlbs: TlbCounters,
}

impl Sums {
    /// Converts the sums to counters; cycles include the hops.
    pub fn counters(&self, machine: &Machine) -> Counters {
        self.tally.counters(self.accesses, self.hops, machine)
    }
}
