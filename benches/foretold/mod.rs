//! What the timed replay says of this machine's variants, with the plan that hops natively.
//!
//! Every hook costs nothing there. Where it is known what a request takes of the CPUs outside the
//! server's code, the client's work and the kernel's, connections think as long, and no throughput
//! is foretold that leaves these CPUs less time than that: natively clients share them.

use crate::Outcome;
use crate::running::Variant;
use crate::timed::{Question, Timed, WINDOW, replay};
use corehop_simulator::Machine;
use std::path::Path;

const HOST: &str = "host";
const CORES: u32 = 2;

/// Throughputs by scheduler, number of connections and cost of a hop.
pub struct Foretold {
    /// With hops of carriers, and by `sched_setaffinity`.
    by_backend: [Vec<Timed>; 2],
}

impl Foretold {
    /// Simulates these numbers of connections.
    pub fn of(
        trace: &Path,
        plan: &Path,
        connections: &[u32],
        outside_us: f64,
    ) -> Outcome<Foretold> {
        let cycles_per_us = 1000.0 * corehop_measure::calibration::core_ghz();
        let machine = Machine::named_or_path(HOST).map_err(|error| error.to_string())?;
        let simulated = |hop_cycles| {
            replay(&Question {
                trace,
                machine: HOST,
                core_model: WINDOW,
                cores: CORES,
                plan,
                connections,
                is_repeating: true,
                schedulers: &["free", "pinned", "split"],
                think_cycles: (outside_us * cycles_per_us) as u64,
                hop_cycles,
            })
        };
        let carrier = simulated(Some(machine.carried_hop_cycles()))?;
        let affinity = simulated(None)?;
        Ok(Foretold {
            by_backend: [carrier, affinity],
        })
    }

    /// The original's time a request by the variant's; nothing where it was not simulated. `auto`
    /// takes the better of hops and none, and one core serves one connection.
    pub fn ratio(&self, variant: Variant, connections: u32) -> Option<f64> {
        let [carrier, affinity] = &self.by_backend;
        let (simulated, scheduler) = match variant {
            Variant::Carrier => (carrier, "split"),
            Variant::Affinity => (affinity, "split"),
            Variant::Pinned => (carrier, "pinned"),
            Variant::Auto => return Some(self.ratio(Variant::Carrier, connections)?.max(1.0)),
            Variant::OneCore => return Some(1.0 / f64::from(connections.min(CORES))),
            Variant::Original | Variant::Again | Variant::Count => return Some(1.0),
        };
        let of = |scheduler: &str| {
            let mut all = simulated.iter();
            let found = all.find(|t| t.connections == connections && t.scheduler == scheduler);
            found.map(beside_clients)
        };
        Some(of(scheduler)? / of("free")?)
    }
}

/// Throughput where all that connections think is work for the same cores: a request takes as long
/// of them as they run its thread and as its client thinks, and they have no more time than that.
fn beside_clients(timed: &Timed) -> f64 {
    let taken = timed.busy_cycles + timed.think_cycles as f64;
    timed
        .throughput
        .min(f64::from(CORES) * 1e6 / taken.max(1.0))
}
