//! What one part of a followed replay adds up to, whatever the part is: a function, a segment, a
//! mode of the processor.

use crate::machine::Machine;
use crate::report::counters::Counters;
use crate::report::tally::Tally;
use crate::report::tlb_counters::TlbCounters;

/// Sums of one part of the program.
#[derive(Clone, Default)]
pub(super) struct Sums {
    pub entries: u64,
    pub accesses: [u64; 3],
    pub hops: u64,
    pub tally: Tally,
    pub tlbs: TlbCounters,
}

impl Sums {
    /// As counters; cycles include the hops.
    pub fn counters(&self, machine: &Machine) -> Counters {
        self.tally.counters(self.accesses, self.hops, machine)
    }
}
