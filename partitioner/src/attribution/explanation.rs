//! The data of an explanation, and the figures derived from it.

use crate::alternatives::{Alternatives, PlannedFunction};
use crate::attribution::demands::{Demands, Throughput};
use crate::requests::complete;
use corehop_plan::Plan;
use corehop_simulator::detail::{Detail, Modes};
use corehop_simulator::{ByArgument, Counters, Machine, Replay, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use std::collections::HashMap;

/// Everything an explanation contains.
pub struct Explanation<'a> {
    /// The trace with the replayed requests.
    pub trace: &'a Trace,
    /// Name of the trace.
    pub trace_name: &'a str,
    /// The simulated machine.
    pub machine: &'a Machine,
    /// The plan that is explained.
    pub plan: &'a Plan,
    /// The plan, as a split of the trace's functions.
    pub split: Split,
    /// The planned functions that have a core, by core.
    pub placed: Vec<PlannedFunction>,
    /// The replayed requests, warm-up requests first.
    pub requests: Vec<RequestId>,
    /// Number of warm-up requests.
    pub warm_up: usize,
    /// Everything on one core.
    pub before: (Replay, Detail),
    /// With the plan.
    pub after: (Replay, Detail),
    /// Counters of user code and of the kernel, on one core and with the plan; `None` if no kernel
    /// was recorded.
    pub modes: Option<(Modes, Modes)>,
    /// The plan's neighbours; empty unless requested.
    pub alternatives: Vec<Alternatives>,
    /// Cycles of a request with some of the trace's connections, in ascending number, and with all.
    pub demands: Vec<Demands>,
    /// Cycles between an answer and the connection's next request.
    pub think_time_cycles: u64,
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

/// Numbers of connections for which throughput is reported.
pub const CONNECTIONS: [u32; 6] = [1, 2, 4, 8, 16, 32];

impl Explanation<'_> {
    /// Returns the number of complete requests left out because the plan was searched on them.
    pub fn left_out(&self) -> usize {
        complete(self.trace.requests()).len() - self.requests.len()
    }

    /// Returns the throughput on the plan's cores for each of [`CONNECTIONS`].
    pub fn throughputs(&self) -> Vec<Throughput> {
        let think_time = self.think_time_cycles as f64;
        let of = |&connections: &u32| {
            self.demands(connections)
                .throughput(connections, think_time)
        };
        CONNECTIONS.iter().map(of).collect()
    }

    /// Returns the demands of the largest replayed number of connections up to `connections`.
    pub fn demands(&self, connections: u32) -> &Demands {
        let few = |demands: &&Demands| demands.connections <= connections;
        let most = self.demands.iter().rev().find(few);
        most.expect("one connection was replayed")
    }

    /// Returns the number of connections in the trace whose requests are counted.
    pub fn connections(&self) -> u32 {
        self.demands.last().map_or(0, |all| all.connections)
    }

    /// Returns the split with the fewest L2 misses among those that differ from the plan in one
    /// function: the removed function, its replacement, and the replay. `None` if there is no
    /// alternative.
    pub fn runner_up(&self) -> Option<(FunctionId, FunctionId, &Replay)> {
        let exchanged = self.alternatives.iter().filter_map(|of| {
            let (other, replay) = of.exchanged.as_ref()?;
            Some((of.function, *other, replay))
        });
        exchanged.min_by_key(|(.., replay)| replay.counters.l2.misses())
    }

    /// Returns the plan's functions by argument, whose calls may run on any of its cores.
    pub fn by_argument(&self) -> impl Iterator<Item = &ByArgument> {
        self.split
            .objects()
            .into_iter()
            .flat_map(|objects| objects.functions())
    }

    /// Returns the name of a function of the trace.
    pub fn name(&self, function: FunctionId) -> &str {
        &self.trace.functions()[function.index()].name
    }

    /// Returns functions by how much the plan changes their L2 misses, largest change first.
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
