//! All that was measured of a machine, and the machine that it describes.

use crate::calibration::bend::{Capacity, Point};
use crate::calibration::caches::Latencies;
use crate::calibration::clock::Clocks;
use crate::calibration::cores::Pair;
use crate::calibration::hops::Hops;
use crate::calibration::replacement::{Misses, Replacement};
use crate::calibration::samples::Figure;
use crate::calibration::watch::Disturbance;
use corehop_simulator::{Level, Machine, Policy};
use serde::Serialize;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The processor, as the kernel calls it.
    pub cpu_model: String,
    /// The CPUs that this process may use.
    pub cpus: Vec<usize>,
    /// Whether the short way was taken.
    pub is_quick: bool,
    /// The machine, as the kernel describes it.
    #[serde(skip)]
    pub described: Machine,
    /// What was assumed for lack of a description.
    pub assumed: Vec<String>,
    /// How fast the clocks run.
    pub clocks: Clocks,
    /// Whether walks that asked for huge pages got any.
    pub has_huge_pages: bool,
    /// What each level takes.
    pub latencies: Latencies,
    /// What a load takes of a line that another core's caches hold modified.
    pub transfer: Option<Figure>,
    /// What hops cost.
    pub hops: Hops,
    /// What goes between each pair of CPUs.
    pub pairs: Vec<Pair>,
    /// How much of each level there is.
    pub capacities: Vec<Capacity>,
    /// What a random walk takes, by its size.
    pub curve: Vec<Point>,
    /// How often a path larger than the L2 misses it.
    pub replacement: Option<Replacement>,
    /// How many times as long a random walk takes as one line after line, in the L2.
    pub l2_prefetch_gain: Option<f64>,
    /// The same in the L3.
    pub l3_prefetch_gain: Option<f64>,
    /// What else the machine did meanwhile.
    pub disturbance: Disturbance,
    /// What could not be measured, and why.
    pub left_out: Vec<String>,
}

impl Calibration {
    /// What a circular path says of it.
    fn policy_of_l2(&self) -> Policy {
        match self.replacement.map(|replacement| replacement.misses) {
            Some(Misses::InPart) => Policy::Random,
            Some(Misses::Always) | None => self.described.l2.policy,
        }
    }

    /// The machine with what was measured in place of what was assumed.
    pub fn machine(&self) -> Machine {
        let Calibration {
            latencies,
            described,
            ..
        } = self;
        let measured = |level: Level, figure| Level {
            latency_cycles: whole(figure, level.latency_cycles),
            ..level
        };
        Machine {
            name: described.name.clone(),
            cores: described.cores,
            l1i: measured(described.l1i, latencies.l1i),
            l1d: measured(described.l1d, latencies.l1d),
            l2: Level {
                policy: self.policy_of_l2(),
                ..measured(described.l2, latencies.l2)
            },
            l3: described.l3.map(|l3| measured(l3, latencies.l3)),
            memory_latency_cycles: whole(latencies.memory, described.memory_latency_cycles),
            transfer_latency_cycles: whole(self.transfer, described.transfer_latency_cycles),
            hop_cost_cycles: whole(self.hops.affinity_awake, described.hop_cost_cycles),
            busy_hop_cost_cycles: whole(self.hops.affinity_busy, described.busy_hop_cost_cycles),
            carried_hop_cost_cycles: whole(
                self.hops.carrier_awake,
                described.carried_hop_cost_cycles,
            ),
            core: described.core,
            topology: described.topology.clone(),
            translation: described.translation.clone(),
        }
    }
}

/// A figure as machine files have it, one cycle at least; `assumed` where there is none.
fn whole(figure: Option<Figure>, assumed: u32) -> u32 {
    figure.map_or(assumed, |figure| {
        (figure.cycles.median.round() as u32).max(1)
    })
}

/// How many times as long the first takes as the second.
pub(crate) fn gain(random: Option<Figure>, sequential: Option<Figure>) -> Option<f64> {
    Some(random?.ns.median / sequential?.ns.median)
}
