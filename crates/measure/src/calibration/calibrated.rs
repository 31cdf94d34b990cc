//! All measurements of a machine, and the machine description that follows from them.

use crate::calibration::bend::{Capacity, Point};
use crate::calibration::caches::Latencies;
use crate::calibration::clock::Clocks;
use crate::calibration::cores::Pair;
use crate::calibration::hops::{AfterIdle, Hops};
use crate::calibration::replacement::{Misses, Replacement};
use crate::calibration::samples::Figure;
use crate::calibration::tlbs::Tlbs;
use crate::calibration::watch::Disturbance;
use corehop_simulator::{Core, IdleHop, Level, Machine, Policy};
use serde::Serialize;

/// Measurements of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Processor model that the kernel reports.
    pub cpu_model: String,
    /// The CPUs that this process may use.
    pub cpus: Vec<usize>,
    /// The command that measured.
    #[serde(skip)]
    pub command: &'static str,
    /// Whether the quick calibration was selected.
    pub is_quick: bool,
    /// The machine, as the kernel describes it.
    #[serde(skip)]
    pub described: Machine,
    /// Defaults used for properties that the kernel does not describe.
    pub assumed: Vec<String>,
    /// Clock frequencies.
    pub clocks: Clocks,
    /// Whether walks that requested huge pages got any.
    pub has_huge_pages: bool,
    /// Latency of each level.
    pub latencies: Latencies,
    /// TLBs for data.
    pub tlbs: Tlbs,
    /// A mispredicted branch, from when it is decided.
    pub mispredicted_branch: Option<Figure>,
    /// Latency of a load of a line that is modified in another core's caches.
    pub transfer: Option<Figure>,
    /// Cost of hops.
    pub hops: Hops,
    /// Latency between each pair of CPUs.
    pub pairs: Vec<Pair>,
    /// Effective capacity of each level.
    pub capacities: Vec<Capacity>,
    /// Latency of a random walk, by its size.
    pub curve: Vec<Point>,
    /// Miss share in the L2 of a path larger than the L2.
    pub replacement: Option<Replacement>,
    /// Ratio of the latencies of a random and a sequential walk in the L2.
    pub l2_prefetch_gain: Option<f64>,
    /// The same in the L3.
    pub l3_prefetch_gain: Option<f64>,
    /// Load of the machine by others during the calibration.
    pub disturbance: Disturbance,
    /// What could not be measured, and why.
    pub left_out: Vec<String>,
}

impl Calibration {
    /// Returns the L2's replacement policy that the circular path indicates.
    fn policy_of_l2(&self) -> Policy {
        match self.replacement.map(|replacement| replacement.misses) {
            Some(Misses::InPart) => Policy::Random,
            Some(Misses::Always) | None => self.described.l2.policy,
        }
    }

    /// Returns the curve of hops to an idle core.
    fn idle_hops(&self) -> Vec<IdleHop> {
        let point = |after: &AfterIdle| IdleHop {
            idle_cycles: after.idle_cycles.round() as u64,
            cost_cycles: (after.mean_cycles.round() as u32).max(1),
        };
        self.hops.affinity_idle.iter().map(point).collect()
    }

    /// Returns the machine, with measured values in place of defaults.
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
            idle_hops: self.idle_hops(),
            carried_hop_cost_cycles: whole(
                self.hops.carrier_awake,
                described.carried_hop_cost_cycles,
            ),
            core: Core {
                mispredict_cycles: whole(
                    self.mispredicted_branch,
                    described.core.mispredict_cycles,
                ),
                ..described.core
            },
            topology: described.topology.clone(),
            translation: described.translation.as_ref().map(|translation| {
                let l2_cycles = measured(described.l2, latencies.l2).latency_cycles;
                self.tlbs.improved(translation, l2_cycles.into())
            }),
        }
    }
}

/// Rounds a figure for machine files, to at least one cycle; `assumed` if there is none.
fn whole(figure: Option<Figure>, assumed: u32) -> u32 {
    figure.map_or(assumed, |figure| {
        (figure.cycles.median.round() as u32).max(1)
    })
}

/// Returns the ratio of the medians of two figures.
pub(crate) fn gain(random: Option<Figure>, sequential: Option<Figure>) -> Option<f64> {
    Some(random?.ns.median / sequential?.ns.median)
}
