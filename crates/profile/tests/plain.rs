//! A cost in the form of the naive attribution, to compare both.

use crate::naive;
use corehop_profile::{Causes, Cost, Level};
use corehop_simulator::Machine;

pub fn plain(cost: &Cost, machine: &Machine) -> naive::Cost {
    let causes = |level: Level| {
        let Causes {
            cold,
            capacity,
            conflict,
            coherence,
            inclusion,
        } = cost.causes(level);
        [cold, capacity, conflict, coherence, inclusion]
    };
    naive::Cost {
        accesses: cost.accesses(),
        cycles: cost.cycles(machine),
        misses: [Level::L1, Level::L2, Level::L3].map(causes),
        fetch_misses: cost.fetch_causes().total(),
        tlb_misses: cost.l1_tlb_misses(),
        walks: cost.walks(),
    }
}
