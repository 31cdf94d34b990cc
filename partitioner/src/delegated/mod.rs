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

use crate::candidates::{Candidate, CandidateRule, Candidates, Unpatchable};
use crate::evaluate::{IndexedPlacement, Key, Placement, named, random, rounds};
use crate::finalists::Finals;
use crate::held_out::{Comparison, Evaluated, Ranked, compare_on, together};
use crate::progress::Progress;
use crate::requests::TrainTestSplit;
use crate::strategy::Ranking;
use crate::weights::{Factors, Weighted};
use crate::{Error, Outcome, Settings, search_and_evaluate, train_test_split_of};
use bounds::Bounds;
use corehop_simulator::{CoreId, Machine, Prepared, PrivateReplay, ReplayOptions, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use search::CallSearch;
use sets::Sets;
use std::time::Instant;

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
) -> Result<Candidates, Error> {
    let mut candidates = Candidates::of(trace, requests, rule)?;
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

/// Searches `trace` for the calls to delegate that make the value on `machines` smallest.
pub(crate) fn partition(
    (trace, machines): (&Trace, &[Weighted]),
    settings: &Settings<'_>,
    wanted: &Wanted,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    let split = match wanted.with_split {
        true => Some(search_and_evaluate(trace, machines, settings, progress)?),
        false => None,
    };
    let base = split
        .as_ref()
        .map_or(Placement::new(), |found| found.split.clone());
    let train_test = train_test_split_of(trace, settings)?;
    let candidates = candidates_beside(&base, (trace, &train_test), (wanted, settings), progress)?;
    let functions = candidates.representatives();
    progress.begin("preparing the searched requests", None);
    let options = ReplayOptions {
        requests: Some(train_test.searched.clone()),
        ..ReplayOptions::default()
    };
    let simulated: Vec<&Machine> = machines.iter().map(|of| &of.machine).collect();
    let moving: Vec<FunctionId> = base.iter().map(|&(function, _)| function).collect();
    let moving = [&functions[..], &moving].concat();
    let prepared = Prepared::with_calls(trace, &simulated, &moving, &options)?;
    let rounds = rounds(train_test.searched.len());
    let factors = Factors::of(machines, settings.objective, &prepared, rounds)?;
    progress.end();
    let search = SetSearch {
        prepared: &prepared,
        factors: &factors,
        rounds,
        base: &base,
        functions: &functions,
    };
    let ranking = search.run(settings, wanted, progress)?;
    let judge = Judge {
        trace,
        machines,
        train_test: &train_test,
        prepared: &prepared,
        progress,
    };
    let evaluated = judge.evaluate(&search, &ranking)?;
    let best = named(&ranking.best[0].1, &functions);
    let delegated: Vec<FunctionId> = best.iter().map(|&(function, _)| function).collect();
    let placed = [&base[..], &best].concat();
    Ok(match split {
        Some(split) => Outcome {
            split: placed,
            delegated,
            added: Some(Added {
                candidates,
                ranking,
                alone: split.evaluated,
            }),
            evaluated,
            ..split
        },
        None => Outcome {
            train_test,
            split: placed,
            delegated,
            evaluated,
            delegation: None,
            added: None,
            fewer: Vec::new(),
            sets_replayed: ranking.evaluated as usize,
            ranking,
            candidates,
        },
    })
}

/// The candidates but for the functions of the split; without a split there must be one.
fn candidates_beside(
    base: &Placement,
    (trace, train_test): (&Trace, &TrainTestSplit),
    (wanted, settings): (&Wanted, &Settings<'_>),
    progress: &dyn Progress,
) -> Result<Candidates, Error> {
    let training: Vec<RequestId> = train_test.training().collect();
    progress.begin("counting calls", None);
    let found = candidates(trace, &training, &wanted.rule, settings.one_way);
    progress.end();
    let mut found = found?;
    let moves = |function: FunctionId| base.iter().any(|placed| placed.0 == function);
    found.chosen.retain(|candidate| !moves(candidate.function));
    for (group, candidate) in (0..).zip(&mut found.chosen) {
        candidate.group = group;
    }
    found.groups = found.chosen.len() as u32;
    match found.chosen.is_empty() && base.is_empty() {
        false => Ok(found),
        true => Err(Error::TooFewCandidates {
            found: 0,
            wanted: 1,
            min_share: wanted.rule.min_share,
            max_calls: wanted.rule.max_calls,
        }),
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

    fn run(
        &self,
        settings: &Settings<'_>,
        wanted: &Wanted,
        progress: &dyn Progress,
    ) -> Result<Ranking, Error> {
        let sets = Sets {
            candidates: self.functions.len() as u32,
            most: wanted.functions,
            may_be_none: wanted.with_split,
            cores: (u32::from(!wanted.with_split), settings.cores - 1),
            alike: !wanted.with_split,
        };
        let terms = match settings.objective.is_ranked_as_it_is() {
            true => self.factors.terms_with(|machine| {
                PrivateReplay::of_delegated(self.prepared, machine, self.rounds)
            }),
            false => None,
        };
        let bounds = terms
            .as_ref()
            .map(|terms| Bounds::new(terms, settings.cores));
        let cores =
            |set: &IndexedPlacement| -> Vec<CoreId> { self.prepared.cores(&self.split(set)) };
        let lower_bounds =
            |sets: &[IndexedPlacement]| bounds.as_ref().map_or(Vec::new(), |of| of.of(sets, cores));
        // Each round has every occurrence where the first has it, but after switching functions.
        let is_around_home = !wanted.with_split;
        let is_bounded = bounds.is_some() && is_around_home && settings.cores == 2;
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
            strategy: settings.strategy,
            value: &value,
            lower_bounds: is_bounded.then_some(&lower_bounds),
            where_calls_run: is_around_home.then_some(&where_calls_run),
            least: bounds.as_ref().map_or(0, Bounds::least),
            until: settings.time_limit.map(|limit| Instant::now() + limit),
            progress,
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
        self.progress.begin("judging the best calls", None);
        let splits = ranking.best.iter().map(|(_, set)| search.split(set));
        let splits: Vec<Split> = splits.collect();
        let searched = self.on_searched_requests(&splits[0])?;
        let mut compared = Vec::new();
        if !self.train_test.held_out.is_empty() {
            compared = compare_on(self.trace, self.machines, self.train_test, &splits)?;
        }
        self.progress.end();
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
