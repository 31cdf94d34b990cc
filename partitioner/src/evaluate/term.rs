//! One core of one machine, and what its misses and hops cost.
//!
//! A split's cost is a sum over cores and over machines; a term is one machine's part of it. Costs
//! are whole numbers, so that sums do not depend on their order.

use crate::objective::UnitCosts;
use corehop_simulator::PrivateReplay;

/// What one core adds to a split's cost on one machine.
pub struct Term {
    /// The core.
    pub private_replay: PrivateReplay,
    /// What its misses and hops cost.
    pub cost: UnitCosts,
    /// What that is multiplied by.
    pub factor: u64,
}

impl Term {
    /// Of L2 misses alone.
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

    /// What hops to a core cost on all machines.
    pub(super) fn cost_of_hops(terms: &[Term], hops: u64) -> u64 {
        let of_hop = terms.iter().map(|term| term.factor * term.cost.hop);
        of_hop.sum::<u64>() * hops
    }

    /// Every line of a set partition must come to some core once.
    pub(super) fn lower_bound(&self, set_partition: usize) -> u64 {
        let cost = self.cost.of_missed().into_iter().min().unwrap_or(0);
        self.factor * cost * self.private_replay.lines(set_partition)
    }
}
