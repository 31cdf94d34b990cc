//! The figures that a file has. Readers show the first one unless a user picks another, so those
//! that `--sort` and `--level` name come first.

use crate::cost::{Cost, Level};
use crate::view::Order;
use corehop_simulator::Machine;
use corehop_traces::Kind;

/// Something that is counted. The names of one figure differ only as the formats require.
pub(super) struct Figure {
    /// In words.
    pub title: &'static str,
    /// In lower case with underscores, as sample types of pprof are.
    pub key: &'static str,
    /// In letters and digits alone, as events of callgrind are.
    pub event: &'static str,
    /// The order that has it first.
    first_by: Option<Order>,
    of: fn(&Cost, &Machine) -> u64,
    needs: Needs,
}

/// What a replay must simulate to have a figure.
enum Needs {
    Nothing,
    L3,
    Tlbs,
}

impl Figure {
    /// How much of it a cost has.
    pub fn of(&self, cost: &Cost, machine: &Machine) -> u64 {
        (self.of)(cost, machine)
    }
}

/// All of them, in the order in which the others follow the first.
static FIGURES: [Figure; 10] = [
    Figure {
        title: "L2 misses",
        key: "l2_misses",
        event: "L2Misses",
        first_by: Some(Order::Misses(Level::L2)),
        of: |cost, _| cost.misses(Level::L2),
        needs: Needs::Nothing,
    },
    Figure {
        title: "L3 misses",
        key: "l3_misses",
        event: "L3Misses",
        first_by: Some(Order::Misses(Level::L3)),
        of: |cost, _| cost.misses(Level::L3),
        needs: Needs::L3,
    },
    Figure {
        title: "L1D misses",
        key: "l1d_misses",
        event: "L1DMisses",
        first_by: Some(Order::Misses(Level::L1)),
        of: |cost, _| cost.data_causes().total(),
        needs: Needs::Nothing,
    },
    Figure {
        title: "L1I misses",
        key: "l1i_misses",
        event: "L1IMisses",
        first_by: Some(Order::Misses(Level::L1)),
        of: |cost, _| cost.fetch_causes().total(),
        needs: Needs::Nothing,
    },
    Figure {
        title: "cycles",
        key: "cycles",
        event: "Cycles",
        first_by: Some(Order::Cycles),
        of: |cost, machine| cost.cycles(machine),
        needs: Needs::Nothing,
    },
    Figure {
        title: "fetches",
        key: "fetches",
        event: "Fetches",
        first_by: None,
        of: |cost, _| cost.accesses_of(Kind::Fetch),
        needs: Needs::Nothing,
    },
    Figure {
        title: "loads",
        key: "loads",
        event: "Loads",
        first_by: None,
        of: |cost, _| cost.accesses_of(Kind::Load),
        needs: Needs::Nothing,
    },
    Figure {
        title: "stores",
        key: "stores",
        event: "Stores",
        first_by: None,
        of: |cost, _| cost.accesses_of(Kind::Store),
        needs: Needs::Nothing,
    },
    Figure {
        title: "L1 TLB misses",
        key: "l1_tlb_misses",
        event: "L1TLBMisses",
        first_by: None,
        of: |cost, _| cost.l1_tlb_misses(),
        needs: Needs::Tlbs,
    },
    Figure {
        title: "walks",
        key: "walks",
        event: "Walks",
        first_by: Some(Order::Walks),
        of: |cost, _| cost.walks(),
        needs: Needs::Tlbs,
    },
];

/// Those that a replay of this machine has.
pub(super) fn figures(machine: &Machine, order: Order, has_tlbs: bool) -> Vec<&'static Figure> {
    let is_there = |figure: &&Figure| match figure.needs {
        Needs::Nothing => true,
        Needs::L3 => machine.l3.is_some(),
        Needs::Tlbs => has_tlbs,
    };
    let mut figures: Vec<_> = FIGURES.iter().filter(is_there).collect();
    figures.sort_by_key(|figure| figure.first_by != Some(order));
    figures
}
