//! Delegated calls: functions that run on another core than their callers.
//!
//! A delegated call moves its thread to another core and back. With a *home* core, this is Curto's
//! execution delegation: everything runs on the home core except some calls. Added to a split, it
//! removes calls from the phases of the split.
//!
//! The bounds of the search for splits do not hold here, because an occurrence on a core is no
//! interval between calls. But there are far fewer sets of a few calls than splits, so each set
//! tried is replayed in full, shared L3 included (`search` describes which are tried). Replays
//! follow the runtime's rules for recursion and for calls within calls. A function may be called
//! several times in a request.

mod bounds;
mod search;
mod sets;

use crate::Error;
use crate::candidates::{Candidate, CandidateRule, Candidates, Unpatchable};
use crate::evaluate::{IndexedPlacement, Key, Placement, named, random};
use crate::finalists::Finals;
use crate::held_out::{Comparison, Evaluated, Ranked, compare_on, together};
use crate::objective::Objective;
use crate::progress::{self, Progress};
use crate::requests::TrainTestSplit;
use crate::strategy::{Ranking, Strategy};
use crate::weights::{Factors, Weighted};
use bounds::Bounds;
use corehop_simulator::{CoreId, Machine, Prepared, PrivateReplay, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use search::CallSearch;
use sets::Sets;
use std::time::{Duration, Instant};

/// Default maximum number of calls per request of a delegated function.
pub const MAX_CALLS: u32 = 10;

/// Parameters of the search for delegated calls.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Maximum number of functions with delegated calls, at least 1.
    pub functions: u32,
    /// The rule for candidates; its groups are ignored.
    pub rule: CandidateRule,
    /// Whether the calls are added to the best split of functions that move threads permanently. If
    /// false, everything else runs on core 0, the home core.
    pub with_split: bool,
}

/// Delegated calls added to a split.
#[derive(Clone, Debug)]
pub struct Added {
    /// The candidates for delegation.
    pub candidates: Candidates,
    /// The best sets of them, with cores, and bounds for all others.
    pub ranking: Ranking,
    /// The evaluation of the split without the calls.
    pub alone: Evaluated,
}

/// Returns functions whose calls can be delegated, by mean position in a request. Each forms a
/// separate group, because calls that begin together may end at different times. Calls of `one_way`
/// are excluded: no thread can return at their end.
///
/// # Errors
/// Fails if the trace cannot be read.
pub fn candidates(
    trace: &Trace,
    requests: &[RequestId],
    rule: &CandidateRule,
    one_way: &[FunctionId],
    progress: &dyn Progress,
) -> Result<Candidates, corehop_traces::Error> {
    let mut candidates = Candidates::of_calls(trace, requests, rule, progress)?;
    let chosen = std::mem::take(&mut candidates.chosen).into_iter();
    let goes_back = |candidate: &Candidate| !one_way.contains(&candidate.function);
    let (back, stay): (Vec<Candidate>, Vec<Candidate>) = chosen.partition(goes_back);
    candidates
        .unpatchable
        .extend(stay.into_iter().map(|stays| Unpatchable {
            function: stays.function,
            called: stays.called,
            reason: "not every return can be hooked".into(),
        }));
    candidates
        .unpatchable
        .sort_unstable_by_key(|of| of.function);
    candidates.chosen = back;
    candidates.groups = candidates.chosen.len() as u32;
    for (group, candidate) in (0..).zip(&mut candidates.chosen) {
        candidate.group = group;
    }
    Ok(candidates)
}

/// A search for calls, in addition to the functions of `base` or instead of any.
pub(crate) struct CallsWanted<'a> {
    pub trace: &'a Trace,
    pub machines: &'a [Weighted],
    pub train_test: &'a TrainTestSplit,
    pub base: &'a Placement,
    pub wanted: &'a Wanted,
    /// Total number of cores.
    pub cores: u32,
    pub objective: Objective,
    pub strategy: Option<Strategy>,
    /// Functions whose calls cannot be delegated, because no thread can return at their end.
    pub one_way: &'a [FunctionId],
    pub time_limit: Option<Duration>,
    pub progress: &'a dyn Progress,
}

/// Result of the search.
pub(crate) struct Found {
    /// The functions whose calls are delegated, each with its core.
    pub calls: Placement,
    pub candidates: Candidates,
    pub ranking: Ranking,
    /// The evaluation of the calls, with the functions of the base.
    pub evaluated: Evaluated,
}

impl CallsWanted<'_> {
    /// Searches for the calls that minimize the objective.
    pub fn find(&self) -> Result<Found, Error> {
        let candidates = self.candidates()?;
        let functions = candidates.representatives();
        let progress = self.progress;
        let options = self.train_test.searched_options();
        let simulated: Vec<&Machine> = self.machines.iter().map(|of| &of.machine).collect();
        let moving: Vec<FunctionId> = self.base.iter().map(|&(function, _)| function).collect();
        let moving = [&functions[..], &moving].concat();
        let stage = ("code blocks prepared for delegated calls", progress);
        let prepared = progress::replaying(stage, (self.trace, &options), |options| {
            Prepared::with_calls(self.trace, &simulated, &moving, options)
        })?;
        let rounds = self.train_test.rounds();
        let factors = Factors::of(self.machines, self.objective, &prepared, rounds)?;
        let search = SetSearch {
            prepared: &prepared,
            factors: &factors,
            rounds,
            base: self.base,
            functions: &functions,
        };
        let ranking = search.run(self)?;
        let judge = Judge {
            trace: self.trace,
            machines: self.machines,
            train_test: self.train_test,
            prepared: &prepared,
            progress,
        };
        Ok(Found {
            evaluated: judge.evaluate(&search, &ranking)?,
            calls: named(&ranking.best[0].1, &functions),
            candidates,
            ranking,
        })
    }

    /// Returns the candidates that are not in the base; fails if there are none.
    fn candidates(&self) -> Result<Candidates, Error> {
        let training: Vec<RequestId> = self.train_test.training().collect();
        let rule = &self.wanted.rule;
        let mut found = candidates(self.trace, &training, rule, self.one_way, self.progress)?;
        let moves = |function: FunctionId| self.base.iter().any(|placed| placed.0 == function);
        found.chosen.retain(|candidate| !moves(candidate.function));
        for (group, candidate) in (0..).zip(&mut found.chosen) {
            candidate.group = group;
        }
        found.groups = found.chosen.len() as u32;
        match found.chosen.is_empty() && self.base.is_empty() {
            false => Ok(found),
            true => Err(Error::too_few(&found, 1, rule)),
        }
    }
}

/// Searches sets of calls, in addition to the functions of a split, on the searched requests.
struct SetSearch<'a> {
    prepared: &'a Prepared,
    factors: &'a Factors<'a>,
    rounds: usize,
    base: &'a Placement,
    functions: &'a [FunctionId],
}

impl SetSearch<'_> {
    fn split(&self, set: &IndexedPlacement) -> Split {
        let calls = named(set, self.functions);
        let delegated: Vec<FunctionId> = calls.iter().map(|&(function, _)| function).collect();
        let placed = self.base.iter().copied().chain(calls);
        Split::new(placed).delegating(delegated)
    }

    fn run(&self, asked: &CallsWanted<'_>) -> Result<Ranking, Error> {
        let with_split = asked.wanted.with_split;
        let sets = Sets {
            candidates: self.functions.len() as u32,
            most: asked.wanted.functions,
            may_be_none: with_split,
            cores: (u32::from(!with_split), asked.cores - 1),
            alike: !with_split,
        };
        let terms = match asked.objective.is_ranked_as_it_is() {
            true => self.factors.terms_with(|machine| {
                PrivateReplay::of_delegated(self.prepared, machine, self.rounds)
            }),
            false => None,
        };
        let bounds = terms.as_ref().map(|terms| Bounds::new(terms, asked.cores));
        let cores =
            |set: &IndexedPlacement| -> Vec<CoreId> { self.prepared.cores(&self.split(set)) };
        let lower_bounds =
            |sets: &[IndexedPlacement]| bounds.as_ref().map_or(Vec::new(), |of| of.of(sets, cores));
        // Each round has every occurrence on the same core as the first, except after switching
        // functions.
        let is_around_home = !with_split;
        let is_bounded = bounds.is_some() && is_around_home && asked.cores == 2;
        let where_calls_run = |set: &IndexedPlacement| -> Key {
            let cores = (0..).zip(cores(set));
            let elsewhere = cores.filter(|&(_, core)| core != CoreId(0));
            let of = |(piece, CoreId(core)): (u64, CoreId)| random(u64::from(core) << 40 | piece);
            elsewhere.map(of).fold(0, |key, of| key ^ of)
        };
        let value = |set: &IndexedPlacement| {
            let split = self.split(set);
            self.factors.replayed(self.prepared, &split, self.rounds)
        };
        let search = CallSearch {
            sets,
            strategy: asked.strategy,
            value: &value,
            lower_bounds: is_bounded.then_some(&lower_bounds),
            where_calls_run: is_around_home.then_some(&where_calls_run),
            least: bounds.as_ref().map_or(0, Bounds::least),
            until: asked.time_limit.map(|limit| Instant::now() + limit),
            progress: asked.progress,
        };
        search.run()
    }
}

/// Evaluates the best sets in the same way as splits.
struct Judge<'a> {
    trace: &'a Trace,
    machines: &'a [Weighted],
    train_test: &'a TrainTestSplit,
    prepared: &'a Prepared,
    progress: &'a dyn Progress,
}

impl Judge<'_> {
    fn evaluate(&self, search: &SetSearch<'_>, ranking: &Ranking) -> Result<Evaluated, Error> {
        let splits = ranking.best.iter().map(|(_, set)| search.split(set));
        let splits: Vec<Split> = splits.collect();
        let searched = self.on_searched_requests(&splits[0])?;
        let mut compared = Vec::new();
        if !self.train_test.held_out.is_empty() {
            let of = (self.trace, self.machines, self.train_test);
            compared = compare_on(of, &splits, self.progress)?;
        }
        let ranked = ranking.best.iter().map(|(value, set)| Ranked {
            split: [&search.base[..], &named(set, search.functions)].concat(),
            ranked_cost: *value,
            in_full: *value,
            timed: None,
        });
        let ranked: Vec<Ranked> = ranked.collect();
        let mut compared = compared.into_iter();
        Ok(Evaluated {
            searched,
            held_out: compared.next(),
            shared_cache_changed_rank: false,
            order: (0..ranked.len()).collect(),
            ranked,
            finals: Finals::NotAsked,
            runner_up_held_out: compared.next(),
        })
    }

    /// Compares a split with one core, in one pass through the searched requests.
    fn on_searched_requests(&self, split: &Split) -> Result<Comparison, Error> {
        let of_machine = |of: &Weighted| {
            let one_core = self.prepared.replay(&of.machine, &Split::default())?;
            Ok((
                of.weight,
                one_core,
                self.prepared.replay(&of.machine, split)?,
            ))
        };
        let replays = self.machines.iter().map(of_machine);
        let replays: Vec<_> = replays.collect::<Result<_, Error>>()?;
        let replays = replays
            .iter()
            .map(|(weight, one_core, split)| (*weight, one_core, split));
        Ok(together(replays))
    }
}
