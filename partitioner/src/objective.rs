//! The objective of a search: the quantity to minimize.
//!
//! The search ranks by the costs of each core alone ([`UnitCosts`]): misses of its private caches
//! and hops to it are sums over cores. The shared L3 concerns all cores together, and so does
//! waiting for a busy core. So L3 misses are ranked by accesses that reach the L3, cycles as if the
//! L3 held every line, and throughput by cycles. For these objectives, more splits are replayed in
//! full, and the one with the smallest value is selected. It is the best of these few only.

use corehop_simulator::queueing::{Network, throughput};
use corehop_simulator::{CacheLevel, Counters, Machine, Replay, Tally};
use corehop_traces::Kind;
use serde::{Serialize, Serializer};

/// A quantity to minimize; all but the last are sums over cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Cycles until all requests are served to this many connections, each of which always has one.
    /// This is the inverse of throughput, by mean value analysis of a network with a station for
    /// each core.
    Throughput {
        /// Number of connections, at least 1.
        connections: u32,
    },
}

/// Costs of one core in a split's value: for each of its misses, and for each hop to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCosts {
    /// An L1I miss, and an L1D miss.
    pub l1: [u64; 2],
    /// An L2 miss of a fetch, and of a load or store.
    pub l2: [u64; 2],
    /// A hop.
    pub hop: u64,
}

impl UnitCosts {
    /// Returns the cost of the misses that a core counted.
    pub fn of(&self, tally: &Tally) -> u64 {
        let misses = |level, kinds: &[Kind]| -> u64 {
            let misses = kinds.iter().map(|&kind| tally.misses(level, kind).total());
            misses.sum()
        };
        let (fetches, data) = (&[Kind::Fetch][..], &[Kind::Load, Kind::Store][..]);
        self.l1[0] * misses(CacheLevel::L1I, fetches)
            + self.l1[1] * misses(CacheLevel::L1D, data)
            + self.l2[0] * misses(CacheLevel::L2, fetches)
            + self.l2[1] * misses(CacheLevel::L2, data)
    }

    /// Returns the cost of a fetch that misses all private caches, and of such a load or store.
    pub fn of_missed(&self) -> [u64; 2] {
        [self.l1[0] + self.l2[0], self.l1[1] + self.l2[1]]
    }
}

impl Objective {
    /// Returns the costs of a core of `machine` in the ranking. Cycles exclude L1 hit time, which
    /// is the same for all splits. An L2 miss takes as long as an L3 hit, or as memory if there is
    /// no L3.
    pub fn cost(self, machine: &Machine) -> UnitCosts {
        let l2_misses = |l2| UnitCosts {
            l2,
            ..UnitCosts::default()
        };
        match self {
            Objective::L2 | Objective::L3 => l2_misses([1, 1]),
            Objective::Fetch => l2_misses([1, 0]),
            Objective::Data => l2_misses([0, 1]),
            Objective::L1 => UnitCosts {
                l1: [1, 1],
                ..UnitCosts::default()
            },
            Objective::Cycles | Objective::Throughput { .. } => {
                let beyond = machine.l3.map(|l3| l3.latency_cycles);
                let beyond = beyond.unwrap_or(machine.memory_latency_cycles);
                let l2 = machine.l2.latency_cycles;
                let later = |outer: u32, inner: u32| u64::from(outer.saturating_sub(inner));
                UnitCosts {
                    l1: [machine.l1i, machine.l1d].map(|l1| later(l2, l1.latency_cycles)),
                    l2: [later(beyond, l2); 2],
                    hop: machine.hop_cost_cycles.into(),
                }
            }
        }
    }

    /// Returns the name of the quantity in the ranking.
    pub fn ranked_by(self) -> &'static str {
        match self {
            Objective::L2 | Objective::L3 => "private L2 misses",
            Objective::L1 => "L1 misses",
            Objective::Fetch => "private L2 misses of fetches",
            Objective::Data => "private L2 misses of loads and stores",
            Objective::Cycles | Objective::Throughput { .. } => "cycles without the L3's misses",
        }
    }

    /// Returns the value of a replay.
    pub fn of(self, replay: &Replay) -> u64 {
        let busy_cycles: Vec<u64> = replay.per_core.iter().map(|core| core.cycles).collect();
        self.of_cores(&replay.counters, &busy_cycles)
    }

    /// Returns the value of the counters of all cores together, which were busy for these cycles.
    pub fn of_cores(self, counters: &Counters, busy_cycles: &[u64]) -> u64 {
        match self {
            Objective::L2 => counters.l2.misses(),
            Objective::L1 => counters.l1i.misses() + counters.l1d.misses(),
            Objective::L3 => counters.l3.misses(),
            Objective::Fetch => counters.l2.fetch_misses(),
            Objective::Data => counters.l2.data_misses(),
            Objective::Cycles => counters.cycles,
            Objective::Throughput { connections } => under_load(busy_cycles, connections),
        }
    }

    /// Returns the value of the counters on one core, for comparison with a split over `cores`
    /// cores. On these, any free core serves the connections.
    pub fn of_baseline(self, counters: &Counters, cores: u32) -> u64 {
        match self {
            Objective::Throughput { connections } => {
                let demand = counters.cycles as f64;
                until_served(&Network::of_equal_cores(demand, cores, 0.0), connections)
            }
            _ => self.of_cores(counters, &[]),
        }
    }

    /// Returns its key in options and files.
    pub fn key(self) -> &'static str {
        match self {
            Objective::L2 => "l2",
            Objective::L1 => "l1",
            Objective::L3 => "l3",
            Objective::Fetch => "fetch",
            Objective::Data => "data",
            Objective::Cycles => "cycles",
            Objective::Throughput { .. } => "throughput",
        }
    }

    /// Returns its name in text.
    pub fn name(self) -> &'static str {
        match self {
            Objective::L2 => "L2 misses",
            Objective::L1 => "L1 misses",
            Objective::L3 => "L3 misses",
            Objective::Fetch => "L2 misses of fetches",
            Objective::Data => "L2 misses of loads and stores",
            Objective::Cycles => "cycles",
            Objective::Throughput { .. } => "cycles under load",
        }
    }

    /// Returns how many of the ranking's best splits are replayed in full: more if the ranking
    /// omits more than the L3's back-invalidations.
    pub fn replayed_in_full(self) -> usize {
        if self.is_ranked_as_it_is() { 5 } else { 50 }
    }

    /// Whether the ranking counts everything except the L3's back-invalidations.
    pub fn is_ranked_as_it_is(self) -> bool {
        match self {
            Objective::L2 | Objective::L1 | Objective::Fetch | Objective::Data => true,
            Objective::L3 | Objective::Cycles | Objective::Throughput { .. } => false,
        }
    }
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

/// Returns the cycles until all requests are served, with these busy cycles of each core.
fn under_load(busy_cycles: &[u64], connections: u32) -> u64 {
    let demands: Vec<f64> = busy_cycles.iter().map(|&cycles| cycles as f64).collect();
    until_served(&Network::of_stages(&demands, 0.0), connections)
}

/// Returns the cycles of a round with this many simultaneous connections; 0 if nothing is busy.
fn until_served(network: &Network, connections: u32) -> u64 {
    match throughput(network, connections) {
        0.0 => 0,
        throughput => (1.0 / throughput).round() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_takes_all_cycles_and_many_those_of_the_busiest_core() {
        let cycles = [3000, 7000, 5000];
        assert_eq!(under_load(&cycles, 1), 15_000);
        assert!((7000..7100).contains(&under_load(&cycles, 200)));
        assert_eq!(under_load(&[0, 0], 4), 0);
    }

    #[test]
    fn without_a_split_connections_have_cores_of_their_own() {
        let counters = Counters {
            cycles: 12_000,
            ..Counters::default()
        };
        let of = |connections, cores| {
            Objective::Throughput { connections }.of_baseline(&counters, cores)
        };
        assert_eq!((of(1, 4), of(3, 4), of(8, 4)), (12_000, 4000, 3000));
        let counters = Counters {
            cycles: 12_003,
            ..Counters::default()
        };
        let value = Objective::Throughput { connections: 8 }.of_baseline(&counters, 4);
        assert_eq!(
            value, 3001,
            "3000.75 cycles, to the nearest as a split's are"
        );
    }
}
