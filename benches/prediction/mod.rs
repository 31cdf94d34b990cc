//! Predictions of the timed replay for this machine's variants, with the plan of the native runs.
//!
//! The servers with several connections have a thread for each, which blocks in the kernel while it
//! has a core. Carriers then decline hops to a core with more threads than wait for the own one,
//! and stop if they decline most (docs/reference/carrier.md, `COREHOP_QUEUE`). `affinity` declines
//! none.
//!
//! Hooks cost nothing in it. If the CPU time of a request outside the server's code (the client's
//! and the kernel's) is known, connections think as long. No predicted throughput leaves these CPUs
//! less time than that, because native clients share them.
//!
//! Pages lie at several random places, as in several starts of a server: the prediction is the
//! middle ratio, with its range.

use crate::Outcome;
use crate::running::Variant;
use crate::timed::{Question, Timed, WINDOW, replay};
use corehop_partitioner::expected::Speedup;
use corehop_simulator::Machine;
use std::collections::BTreeSet;
use std::path::Path;

const HOST: &str = "host";
const CORES: u32 = 2;
/// What carriers do where threads block: its name in results, and on the command line.
const CARRIED: (&str, &str) = ("split-if-idle", "split-if-idle=0");

/// Predicted throughputs by scheduler, number of connections and cost of a hop.
pub struct Prediction {
    /// With hops of the carrier backend, and by `sched_setaffinity`.
    by_backend: [Vec<Timed>; 2],
}

impl Prediction {
    /// Simulates these numbers of connections.
    pub fn of(
        trace: &Path,
        plan: &Path,
        connections: &[u32],
        outside_us: f64,
    ) -> Outcome<Prediction> {
        let cycles_per_us = 1000.0 * corehop_measure::calibration::core_ghz();
        let machine = Machine::named_or_path(HOST).map_err(|error| error.to_string())?;
        let simulated = |hop_cycles, schedulers: &[&str]| {
            replay(&Question {
                trace,
                machine: HOST,
                core_model: WINDOW,
                is_detailed: true,
                cores: CORES,
                plan,
                connections,
                is_repeating: true,
                schedulers,
                think_cycles: (outside_us * cycles_per_us) as u64,
                hop_cycles,
            })
        };
        let carried = Some(machine.carried_hop_cycles());
        let carrier = simulated(carried, &["free", "pinned", "split", CARRIED.1])?;
        let affinity = simulated(None, &["free", "split"])?;
        Ok(Prediction {
            by_backend: [carrier, affinity],
        })
    }

    /// Returns the original's time per request divided by the variant's; `None` if it was not
    /// simulated. `auto` is the better of hopping and not hopping, and one core serves one
    /// connection.
    pub fn ratio(&self, variant: Variant, connections: u32) -> Option<Speedup> {
        let [carrier, _] = &self.by_backend;
        let placements: BTreeSet<u64> = carrier.iter().map(|timed| timed.placement).collect();
        let placements = placements.into_iter();
        let ratios = placements.map(|placement| self.placed(placement, variant, connections));
        let ratios: Vec<f64> = ratios.collect::<Option<_>>()?;
        (!ratios.is_empty()).then(|| Speedup::of(ratios))
    }

    /// Returns the ratio with one placement of pages.
    fn placed(&self, placement: u64, variant: Variant, connections: u32) -> Option<f64> {
        let [carrier, affinity] = &self.by_backend;
        let stops = self.stops(placement, connections);
        let (simulated, scheduler) = match variant {
            Variant::Carrier if stops => (carrier, "free"),
            Variant::Carrier => (carrier, CARRIED.0),
            Variant::Affinity => (affinity, "split"),
            Variant::Pinned => (carrier, "pinned"),
            Variant::Auto => {
                let hopping = self.placed(placement, Variant::Carrier, connections)?;
                return Some(hopping.max(1.0));
            }
            Variant::OneCore => return Some(1.0 / f64::from(connections.min(CORES))),
            Variant::Original | Variant::Again | Variant::Count => return Some(1.0),
        };
        let at = (placement, connections);
        let of = |scheduler| found(simulated, at, scheduler).map(beside_clients);
        Some(of(scheduler)? / of("free")?)
    }

    /// Whether carriers stop, because they decline more hops than they make while threads wait.
    fn stops(&self, placement: u64, connections: u32) -> bool {
        let [carrier, _] = &self.by_backend;
        let at = (placement, connections);
        let hops = |scheduler| found(carrier, at, scheduler).map_or(0.0, |t| t.hops);
        connections > CORES && hops("split") > 2.0 * hops(CARRIED.0)
    }
}

/// Returns the result of a scheduler with this placement of pages and this many connections.
fn found<'t>(simulated: &'t [Timed], at: (u64, u32), scheduler: &str) -> Option<&'t Timed> {
    let is_it = |t: &&Timed| (t.placement, t.connections) == at && t.scheduler == scheduler;
    simulated.iter().find(is_it)
}

/// Returns the throughput if think time is work on the same cores. A request then takes the time of
/// its thread plus that of its client, and the cores have no more time than that.
fn beside_clients(timed: &Timed) -> f64 {
    let taken = timed.busy_cycles + timed.think_cycles as f64;
    timed
        .throughput
        .min(f64::from(CORES) * 1e6 / taken.max(1.0))
}
