//! What the replay lets expect of several connections, which share the plan's cores.
//!
//! The cycles of one request say nothing of a busy server: a core that is the next stage of many
//! requests makes them wait. Each core is a queue, and what a request spends there follows from a
//! replay with hops of either cost; without hops connections have a core each while there are any.
//! It is `corehop measure`'s own reckoning, of the requests in the recording's second half.

use crate::Outcome;
use crate::running::Variant;
use corehop_partitioner::requests::complete;
use corehop_partitioner::throughput::requests_per_cycle;
use corehop_simulator::{Machine, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::Trace;
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
        let alone = f64::from(connections.min(CORES)) / self.one_core.max(1.0);
        let hopping = |demands: &[f64]| {
            let throughput = requests_per_cycle(demands, connections);
            throughput.last().copied().unwrap_or(0.0) / alone
        };
        match variant {
            Variant::Original | Variant::Count => 1.0,
            Variant::OneCore => 1.0 / f64::from(connections.min(CORES)),
            Variant::Affinity => hopping(&self.affinity),
            Variant::Carrier => hopping(&self.carrier),
            Variant::Auto => hopping(&self.carrier).max(1.0),
        }
    }
}
