//! What the timed replay says of this machine's variants, with the plan that hops natively.
//!
//! Every hook costs nothing there, and clients have CPUs of their own: natively they share the
//! server's, and take the same from all variants.

use crate::Outcome;
use crate::client::Client;
use crate::running::Variant;
use crate::timed::{IN_ORDER, Question, Timed, replay};
use corehop_simulator::machine::CARRIED_HOP_CYCLES;
use std::path::Path;

const HOST: &str = "host";
const CORES: u32 = 2;
/// The clock by which a carrier's hop, half a microsecond, has its cycles: descriptions have none.
const CYCLES_PER_US: f64 = CARRIED_HOP_CYCLES as f64 / 0.5;

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
        client: Option<&Client>,
    ) -> Outcome<Foretold> {
        let think_us = client.map_or(0.0, |client| client.think_us);
        let simulated = |hop_cycles| {
            replay(&Question {
                trace,
                machine: HOST,
                core_model: IN_ORDER,
                cores: CORES,
                plan,
                connections,
                is_repeating: false,
                schedulers: &["free", "pinned", "split"],
                think_cycles: (think_us * CYCLES_PER_US) as u64,
                hop_cycles,
            })
        };
        let carrier = simulated(Some(CARRIED_HOP_CYCLES))?;
        let affinity = simulated(None)?;
        Ok(Foretold {
            by_backend: [carrier, affinity],
        })
    }

    /// The original's time a request by the variant's; nothing where it was not simulated.
    pub fn ratio(&self, variant: Variant, connections: u32) -> Option<f64> {
        let [carrier, affinity] = &self.by_backend;
        let (simulated, scheduler) = match variant {
            Variant::Carrier => (carrier, "split"),
            Variant::Affinity => (affinity, "split"),
            Variant::Pinned => (carrier, "pinned"),
            _ => (carrier, "free"),
        };
        let of = |scheduler: &str| {
            let mut all = simulated.iter();
            let found = all.find(|t| t.connections == connections && t.scheduler == scheduler);
            found.map(|timed| timed.throughput)
        };
        Some(of(scheduler)? / of("free")?)
    }
}
