//! The input of an explanation: which plan, of which trace, on which machine.
//!
//! The answer needs two detailed replays, one on one core and one with the plan; they run in
//! parallel. A trace of several connections needs two more replays for each reported number of
//! connections. Each neighbour of the plan needs one replay, so neighbours are optional.

use crate::alternatives::{PlannedFunction, alternatives};
use crate::attribution::demands::{Demands, Subject};
use crate::attribution::error::Error;
use crate::attribution::explanation::{CONNECTIONS, Explanation};
use crate::candidates::{CandidateRule, Candidates};
use crate::progress::{self, Progress};
use crate::requests::{Searched, TrainTestSplit, complete};
use corehop_plan::Plan;
use corehop_simulator::detail::{Modes, Segments, replay_by_mode, replay_in_detail};
use corehop_simulator::{Machine, Replay, ReplayOptions, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use std::path::Path;

/// What to explain.
pub struct Question<'a> {
    /// The trace with the requests to replay.
    pub trace: &'a Trace,
    /// Name of the trace.
    pub trace_name: &'a str,
    /// The simulated machine.
    pub machine: &'a Machine,
    /// The plan to explain.
    pub plan: &'a Plan,
    /// Path of the plan.
    pub plan_path: &'a Path,
    /// Number of warm-up requests among all complete requests. If `None`, the requests that the
    /// plan was searched on are left out, and the rest is divided as in the search. So the held-out
    /// requests are counted, and the figures match the search. If the plan records no held-out
    /// requests, or those of another trace, the first half of all requests warms the caches.
    pub warm_up: Option<usize>,
    /// Whether to replay the plan's neighbours; this takes longer than everything else.
    pub neighbours: bool,
    /// Cycles between an answer and the connection's next request.
    pub think_time_cycles: u64,
}

impl<'a> Question<'a> {
    /// Runs all replays of the explanation.
    ///
    /// # Errors
    /// [`Error::Plan`] if the plan does not fit the trace or the machine; another error if the
    /// trace cannot be read or replayed.
    pub fn answer(&self, progress: &dyn Progress) -> Result<Explanation<'a>, Error> {
        let (trace, machine) = (self.trace, self.machine);
        let about_plan = |source: corehop_simulator::Error| Error::Plan {
            plan: self.plan_path.into(),
            source,
        };
        let split = Split::of_plan(self.plan, trace).map_err(about_plan)?;
        let complete = complete(trace.requests());
        let (requests, warm_up) = self.counted(&complete);
        let options = ReplayOptions {
            requests: Some(requests.clone()),
            warm_up_requests: warm_up,
            progress: None,
            page_sizes: None,
        };
        let placed = placed(&split);
        let executions = 2 * options.executions(trace);
        progress.begin("code blocks replayed in detail", Some(executions));
        let advance = |executions| progress.advance(executions);
        let watched = ReplayOptions {
            progress: Some(&advance),
            ..options.clone()
        };
        let tell =
            |split: &Split| replay_in_detail(trace, machine, split, &Segments::default(), &watched);
        let (before, after) = rayon::join(|| tell(&Split::default()), || tell(&split));
        progress.end();
        let (after, before) = (after.map_err(about_plan)?, before?);
        let modes = self.modes(&split, &options)?;
        let subject = Subject {
            trace,
            machine,
            split: &split,
            cores: self.plan.cores,
            requests: &requests,
            warm_up,
        };
        let demands = demands(&subject, (&before.0, &after.0), progress)?;
        // Plans by object or by numbered call have other neighbours, which are not replayed.
        let alternatives = match self.neighbours && split.is_by_function() {
            false => Vec::new(),
            true => {
                let rule = CandidateRule::default();
                let candidates = Candidates::of(trace, &complete, &rule, progress)
                    .map_err(crate::Error::from)?;
                let others = others(&candidates, &placed);
                alternatives(trace, machine, &placed, &others, &options, progress)?
            }
        };
        Ok(Explanation {
            trace,
            trace_name: self.trace_name,
            machine,
            plan: self.plan,
            split,
            placed,
            requests,
            warm_up,
            before,
            after,
            modes,
            alternatives,
            demands,
            think_time_cycles: self.think_time_cycles,
        })
    }
}

impl Question<'_> {
    /// Returns the requests to replay and the number of warm-up requests.
    fn counted(&self, complete: &[RequestId]) -> (Vec<RequestId>, usize) {
        let halves = || (complete.to_vec(), complete.len() / 2);
        match (self.warm_up, self.plan.expected) {
            (Some(warm_up), _) => (complete.to_vec(), warm_up),
            (None, None) => halves(),
            (None, Some(expected)) => {
                let searched = Searched::Sample(expected.searched.requests as usize);
                let parts = TrainTestSplit::of(self.trace.requests(), searched, self.plan.seed);
                let parts = parts.ok().filter(|parts| {
                    let held_out = parts.held_out.len() as u64;
                    held_out > 0 && held_out == expected.held_out.requests
                });
                parts.map_or_else(halves, |parts| {
                    let requests = [&parts.warm_up[..], &parts.held_out].concat();
                    (requests, parts.warm_up.len())
                })
            }
        }
    }

    /// Counts user code and the kernel separately, on one core and with the plan.
    fn modes(
        &self,
        split: &Split,
        options: &ReplayOptions<'_>,
    ) -> Result<Option<(Modes, Modes)>, corehop_simulator::Error> {
        let tell = |split: &Split| replay_by_mode(self.trace, self.machine, split, options);
        let (before, after) = rayon::join(|| tell(&Split::default()), || tell(split));
        Ok(before?.zip(after?))
    }
}

/// Returns the demands for each reported number of connections, and for all of the trace's
/// connections. For a single connection, the existing replays suffice.
fn demands(
    subject: &Subject<'_>,
    (before, after): (&Replay, &Replay),
    progress: &dyn Progress,
) -> Result<Vec<Demands>, corehop_simulator::Error> {
    let all = subject.connections().len() as u32;
    if all <= 1 {
        return Ok(vec![Demands::of((1, subject.cores), before, after)]);
    }
    let some = CONNECTIONS.iter().copied().filter(|&some| some < all);
    let numbers: Vec<u32> = some.chain([all]).collect();
    let stage = ("numbers of connections replayed", numbers.len() as u64);
    progress::stage(progress, stage, |tell| {
        let demands = |&some: &u32| subject.demands(some).inspect(|_| tell(1));
        numbers.iter().map(demands).collect()
    })
}

/// Returns the functions of a split, by core.
fn placed(split: &Split) -> Vec<PlannedFunction> {
    let place = |function| {
        Some(PlannedFunction {
            function,
            core: split.core_of(function)?,
            delegated: split.delegates(function),
        })
    };
    let mut placed: Vec<PlannedFunction> = split.functions().filter_map(place).collect();
    placed.sort_unstable_by_key(|placed| (placed.core, placed.function));
    placed
}

/// Returns one candidate of each group without a planned function. Hopping at another function of a
/// planned function's group gives the same split.
pub fn others(candidates: &Candidates, placed: &[PlannedFunction]) -> Vec<FunctionId> {
    let planned = |function| placed.iter().any(|placed| placed.function == function);
    let mut taken = vec![false; candidates.groups as usize];
    for candidate in candidates.chosen.iter().filter(|c| planned(c.function)) {
        taken[candidate.group as usize] = true;
    }
    let groups = candidates.representatives().into_iter().zip(taken);
    let free = groups.filter(|(_, taken)| !taken);
    free.map(|(function, _)| function).collect()
}
