//! What is known of a plan, and the figures that follow from it.

use corehop_partitioner::alternatives::{Alternatives, PlannedFunction};
use corehop_partitioner::throughput::requests_per_cycle;
use corehop_plans::Plan;
use corehop_simulator::detail::Detail;
use corehop_simulator::{Counters, Machine, Replay, Split};
use corehop_traces::Trace;
use std::collections::HashMap;

/// All that is known of a plan.
pub struct Explanation<'a> {
    /// The requests that were replayed, and others.
    pub trace: &'a Trace,
    /// What people call the trace.
    pub trace_name: &'a str,
    /// The machine that was simulated.
    pub machine: &'a Machine,
    /// The plan that is explained.
    pub plan: &'a Plan,
    /// The plan, with the trace's numbers of functions.
    pub split: Split,
    /// The planned functions, by core.
    pub placed: Vec<PlannedFunction>,
    /// What was replayed; those that warm up come first.
    pub requests: Vec<u32>,
    /// How many of the requests warm the caches.
    pub warm_up: usize,
    /// Everything on one core.
    pub before: (Replay, Detail),
    /// With the plan.
    pub after: (Replay, Detail),
    /// The plan's neighbours; empty unless they were asked for.
    pub alternatives: Vec<Alternatives>,
}

/// A function's counters on one core and with the plan.
pub struct Mover {
    /// The function's name, or its module's.
    pub name: String,
    /// On one core.
    pub before: Counters,
    /// With the plan.
    pub after: Counters,
}

/// Numbers of connections that throughput is told for.
const CONNECTIONS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Requests in a million cycles.
pub struct Throughput {
    /// How many connections there are.
    pub connections: u32,
    /// Each connection on one of the plan's cores, without a split.
    pub before: f64,
    /// With the split.
    pub after: f64,
}

impl Explanation<'_> {
    /// What connections that always have a request would get from the plan's cores.
    pub fn throughputs(&self) -> Vec<Throughput> {
        let ((before, _), (after, _)) = (&self.before, &self.after);
        let a_request = |cycles: u64| cycles as f64 / after.requests.max(1) as f64;
        let cores = after.per_core.iter();
        let demands: Vec<f64> = cores.map(|core| a_request(core.cycles)).collect();
        let most = CONNECTIONS[CONNECTIONS.len() - 1];
        let split = requests_per_cycle(&demands, most);
        let alone = a_request(before.counters.cycles).max(1.0);
        let of = |&connections: &u32| Throughput {
            connections,
            before: f64::from(connections.min(self.plan.cores)) * 1e6 / alone,
            after: split[connections as usize - 1] * 1e6,
        };
        CONNECTIONS.iter().map(of).collect()
    }

    /// Of the splits that differ from the plan in one function, the one with the fewest L2 misses:
    /// that function, the one in its place, and the replay. `None` where there is no other to take.
    pub fn runner_up(&self) -> Option<(u32, u32, &Replay)> {
        let exchanged = self.alternatives.iter().filter_map(|of| {
            let (other, replay) = of.exchanged.as_ref()?;
            Some((of.function, *other, replay))
        });
        exchanged.min_by_key(|(.., replay)| replay.counters.l2.misses())
    }

    /// The name of a function of the trace.
    pub fn name(&self, function: u32) -> &str {
        &self.trace.functions()[function as usize].name
    }

    /// Functions by how much the plan changes their L2 misses, the largest change first.
    pub fn movers(&self) -> Vec<Mover> {
        let mut by_owner = HashMap::<String, [Counters; 2]>::new();
        for (side, (_, detail)) in [&self.before, &self.after].into_iter().enumerate() {
            for function in &detail.functions {
                let owner = function.owner.name(self.trace);
                by_owner.entry(owner).or_default()[side] += function.cost.counters;
            }
        }
        let mover = |(name, [before, after]): (String, [Counters; 2])| Mover {
            name,
            before,
            after,
        };
        let mut movers: Vec<Mover> = by_owner.into_iter().map(mover).collect();
        movers.sort_by_cached_key(|mover| {
            let [before, after] = [&mover.before, &mover.after].map(|c| c.l2.misses());
            (
                std::cmp::Reverse(before.abs_diff(after)),
                mover.name.clone(),
            )
        });
        movers
    }
}
