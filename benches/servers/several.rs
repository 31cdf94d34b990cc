//! What the replay lets expect of several connections, which share the plan's cores.
//!
//! The cycles of one request say nothing of a busy server: a core that is the next stage of many
//! requests makes them wait. Each core is a station of a closed network, and what a request spends
//! there follows from a replay with hops of either cost; without hops a connection takes whichever
//! core is free. It is `corehop measure`'s own reckoning of a recording of one connection, of the
//! requests in its second half.

use crate::Outcome;
use crate::running::Variant;
use corehop_partitioner::requests::complete;
use corehop_simulator::{Machine, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::Trace;
use corehop_utilisation::{Network, throughput};
use std::path::Path;

const CORES: u32 = 2;

/// Cycles that a request takes.
pub struct Several {
    one_core: f64,
    /// On each core, with hops to carriers.
    carrier: Vec<f64>,
    /// The same with `sched_setaffinity`.
    affinity: Vec<f64>,
}

impl Several {
    /// Replays the trace as it is, and as the plan has it.
    pub fn of(trace: &Path, plan: &Path, carrier_cycles: u32) -> Outcome<Several> {
        let affinity = Machine::named_or_path("host").map_err(|error| error.to_string())?;
        let mut carrier = affinity.clone();
        carrier.hop_cost_cycles = carrier_cycles;
        let plan = corehop_plans::read(plan).map_err(|error| error.to_string())?;
        let trace = Trace::open(trace)?;
        let hopping = Split::from_plan(&plan, trace.modules(), trace.functions())?;
        let one_core = Split::default();
        let settings = [
            (&affinity, &one_core),
            (&carrier, &hopping),
            (&affinity, &hopping),
        ];
        let settings = settings.map(|(machine, split)| Setting { machine, split });
        let requests = complete(trace.requests());
        let options = ReplayOptions {
            warm_up_requests: requests.len() / 2,
            requests: Some(requests),
            progress: None,
        };
        let replays = replay_all(&trace, &settings, &options)?;
        let [one_core, carrier, affinity] = [0, 1, 2].map(|index| {
            let replay = &replays[index];
            let cores = replay.per_core.iter();
            let a_request = |cycles: u64| cycles as f64 / replay.requests.max(1) as f64;
            cores.map(|core| a_request(core.cycles)).collect::<Vec<_>>()
        });
        Ok(Several {
            one_core: one_core.iter().sum(),
            carrier,
            affinity,
        })
    }

    /// The variant's throughput by the original's.
    pub fn predicted(&self, variant: Variant, connections: u32) -> f64 {
        let alone = Network::of_equal_cores(self.one_core.max(1.0), CORES, 0.0);
        let alone = throughput(&alone, connections);
        let hopping =
            |demands: &[f64]| throughput(&Network::of_stages(demands, 0.0), connections) / alone;
        match variant {
            Variant::Original | Variant::Again | Variant::Count | Variant::Pinned => 1.0,
            Variant::OneCore => 1.0 / f64::from(connections.min(CORES)),
            Variant::Affinity => hopping(&self.affinity),
            Variant::Carrier => hopping(&self.carrier),
            Variant::Auto => hopping(&self.carrier).max(1.0),
        }
    }
}
