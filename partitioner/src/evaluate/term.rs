//! One core of one machine, and what its misses and hops cost.
//!
//! A split's cost is a sum over cores and over machines; a term is one machine's part of it. Costs
//! are whole numbers, so that sums do not depend on their order.

use crate::objective::UnitCosts;
use corehop_simulator::PrivateReplay;

/// The part of one machine in a split's cost.
pub struct Term {
    /// The replay of one core.
    pub private_replay: PrivateReplay,
    /// The costs of misses and hops.
    pub cost: UnitCosts,
    /// The factor of this machine.
    pub factor: u64,
}

impl Term {
    /// Returns a term that counts only L2 misses.
    pub fn l2(private_replay: PrivateReplay) -> Term {
        let cost = UnitCosts {
            l2: [1, 1],
            ..UnitCosts::default()
        };
        let factor = 1;
        Term {
            private_replay,
            cost,
            factor,
        }
    }

    pub(super) fn cost_of(&self, set_partition: usize, runs: &[bool]) -> u64 {
        self.factor
            * self
                .cost
                .of(&self.private_replay.tally(set_partition, runs))
    }

    /// Returns the cost of hops to a core on all machines.
    pub(super) fn cost_of_hops(terms: &[Term], hops: u64) -> u64 {
        let of_hop = terms.iter().map(|term| term.factor * term.cost.hop);
        of_hop.sum::<u64>() * hops
    }

    /// Returns a lower bound: every line of a set partition must be loaded by some core once.
    pub(super) fn lower_bound(&self, set_partition: usize) -> u64 {
        let cost = self.cost.of_missed().into_iter().min().unwrap_or(0);
        self.factor * cost * self.private_replay.lines(set_partition)
    }
}
