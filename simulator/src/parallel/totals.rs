//! Computes the totals of a replay from tallies of misses.

use super::piece_placement::PiecePlacement;
use crate::machine::Machine;
use crate::report::counters::Counters;
use crate::report::replay::Replay;
use crate::report::tally::Tally;

/// A replay without its misses, which are in the tallies.
pub(crate) struct Totals<'a> {
    pub machine: &'a Machine,
    pub placement: &'a PiecePlacement<'a>,
    /// Number of counted requests.
    pub requests: u64,
}

impl Totals<'_> {
    /// Returns the replay for `tallies`, the sums over all set partitions for each core.
    pub fn replay(&self, tallies: &[Tally]) -> Replay {
        let PiecePlacement {
            hops, references, ..
        } = self.placement;
        let of_core = |(core, tally): (usize, &Tally)| {
            if self.placement.is_counting() {
                tally.counters(references[core], hops[core], self.machine)
            } else {
                // The requests to count had no references.
                Counters::default()
            }
        };
        let per_core: Vec<Counters> = tallies.iter().enumerate().map(of_core).collect();
        let counters: Counters = per_core.iter().copied().sum();
        Replay {
            counters,
            accesses: counters.accesses(),
            per_core,
            hops: if self.placement.is_counting() {
                hops.iter().sum()
            } else {
                0
            },
            requests: self.requests,
            tlbs: Vec::new(),
        }
    }
}
