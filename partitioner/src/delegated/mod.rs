//! Delegated calls: which functions to run on another core than their callers.
//!
//! A call that is delegated takes its thread to another core and back. Around a *home* core, that
//! is Curto's execution delegation: everything runs at home but some calls. Added to a split, it
//! takes calls out of the phases that the split tells apart.
//!
//! The bounds that the search for splits stands on do not hold here, since what runs on a core is
//! no interval between calls. But there are far fewer sets of a few calls than splits, so each set
//! that is tried is replayed in full, shared L3 included ([`search`] says which are tried).
//! Recursion and calls within calls are what the runtime makes of them, since replays have its
//! rules. A function may be called several times in a request.

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

/// Most calls in a request of a function that is delegated, unless asked otherwise.
pub const MAX_CALLS: u32 = 10;

/// Which calls to look for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Most functions whose calls are delegated, at least 1.
    pub functions: u32,
    /// What makes a function's calls candidates; groups do not count.
    pub rule: CandidateRule,
    /// Whether they are added to the best split of functions that move threads for good; else all
    /// else runs on core 0, at home.
    pub with_split: bool,
}

/// Calls that were added to a split.
#[derive(Clone, Debug)]
pub struct Added {
    /// The functions that might be delegated.
    pub candidates: Candidates,
    /// The best sets of them, with cores, and what is known of all others.
    pub ranking: Ranking,
    /// How the split alone compares.
    pub alone: Evaluated,
}

/// Functions whose calls can be delegated, in order of their mean position in a request; each is a
/// group of its own, since calls that begin together end apart. At the end of calls of `one_way` no
/// thread can go back.
///
/// # Errors
/// What reading the trace says.
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

/// A search for calls, beside the functions of `base` or instead of any.
pub(crate) struct CallsWanted<'a> {
    pub trace: &'a Trace,
    pub machines: &'a [Weighted],
    pub train_test: &'a TrainTestSplit,
    pub base: &'a Placement,
    pub wanted: &'a Wanted,
    /// Number of cores in all.
    pub cores: u32,
    pub objective: Objective,
    pub strategy: Option<Strategy>,
    /// Functions at the end of whose calls no thread can go back.
    pub one_way: &'a [FunctionId],
    pub time_limit: Option<Duration>,
    pub progress: &'a dyn Progress,
}

/// What it finds.
pub(crate) struct Found {
    /// The functions whose calls are delegated, each with its core.
    pub calls: Placement,
    pub candidates: Candidates,
    pub ranking: Ranking,
    /// How they compare, with the functions of the base.
    pub evaluated: Evaluated,
}

impl CallsWanted<'_> {
    /// Searches for the calls that make the value smallest.
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

    /// The candidates but for the functions of the base; without any there must be one.
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

/// Sets of calls beside the functions of a split, on the requests searched.
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
        // Each round has every occurrence where the first has it, but after switching functions.
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

/// Judges the best sets, as splits are judged.
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

    /// Once through the searched requests.
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
