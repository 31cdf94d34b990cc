//! What a split is to make small.
//!
//! The search ranks by private L2 misses, which fall apart into a sum over cores. No other
//! objective is ranked so: misses of the shared L3 and hops belong to all cores together, and the
//! floors of branch and bound are of L2 misses. So for every other objective more splits are
//! replayed in full, and the one with the smallest value is taken. That is the best of these few;
//! a split that is poor in L2 misses and good otherwise is not found.

use corehop_simulator::Counters;

/// What to make small; each is a sum over all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// L2 misses, as in the paper.
    #[default]
    L2,
    /// Misses of both kinds of L1.
    L1,
    /// L3 misses.
    L3,
    /// L2 misses of fetches.
    Fetch,
    /// L2 misses of loads and stores.
    Data,
    /// Cycles, hops included, at the machine's hop cost.
    Cycles,
}

impl Objective {
    /// The value of what a replay counted.
    pub fn of(self, counters: &Counters) -> u64 {
        match self {
            Objective::L2 => counters.l2.misses(),
            Objective::L1 => counters.l1i.misses() + counters.l1d.misses(),
            Objective::L3 => counters.l3.misses(),
            Objective::Fetch => counters.l2.fetch_misses(),
            Objective::Data => counters.l2.data_misses(),
            Objective::Cycles => counters.cycles,
        }
    }

    /// What it counts, in words.
    pub fn name(self) -> &'static str {
        match self {
            Objective::L2 => "L2 misses",
            Objective::L1 => "L1 misses",
            Objective::L3 => "L3 misses",
            Objective::Fetch => "L2 misses of fetches",
            Objective::Data => "L2 misses of loads and stores",
            Objective::Cycles => "cycles",
        }
    }

    /// How many of the best splits by L2 misses are replayed in full.
    pub fn replayed_in_full(self) -> usize {
        match self {
            Objective::L2 => 5,
            _ => 50,
        }
    }
}
