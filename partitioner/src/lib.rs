//! The search: at which function entries should a server's threads change core?
//!
//! [`partition`] goes from a trace to a plan in four steps. It divides the requests into searched
//! and held-out ones ([`requests`]). It finds the functions at which a thread could change core
//! ([`candidates`]). It ranks splits by what each core's private caches would miss ([`evaluate`],
//! [`strategy`]). It replays the best few in full, shared L3 included, and evaluates the best of
//! them on the held-out requests ([`held_out`]); where throughput counts, the best by a timed
//! replay ([`finalists`]). Then it asks whether threads had better go back when calls return
//! ([`mod@delegation`]). Calls that run on another core than their callers, at home or beside a
//! split, are looked for in another way ([`delegated`]).

#![forbid(unsafe_code)]

pub mod alternatives;
pub mod backend;
pub mod candidates;
pub mod checkpoint;
mod comparison;
pub mod delegated;
pub mod delegation;
mod error;
pub mod evaluate;
pub mod fewer;
pub mod finalists;
pub mod held_out;
pub mod hop_cost;
pub mod machine_list;
pub mod objective;
pub mod plan;
pub mod progress;
pub mod requests;
pub mod resamples;
pub mod strategy;
pub mod weights;

pub use error::Error;
pub use held_out::{Comparison, Evaluated};

use candidates::{CandidateRule, Candidates};
use checkpoint::Checkpoint;
use corehop_simulator::{Machine, Prepared, ReplayOptions, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use delegated::CallsWanted;
use delegation::{Delegate, Delegation, FoundSplit, delegation};
use evaluate::{Evaluator, Placement, rounds};
use fewer::Fewer;
use finalists::{Finals, TimedReplay, Wanted};
use held_out::HeldOutEvaluation;
use objective::Objective;
use progress::Progress;
use requests::{Searched, TrainTestSplit};
use std::time::{Duration, Instant};
use strategy::{Ranking, Search, Strategy};
use weights::{Factors, Weighted};

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Number of cores, at least 2.
    pub cores: u32,
    /// Number of functions to choose, no fewer than cores; cores may have several.
    pub functions: u32,
    /// Requests to search on.
    pub searched: Searched,
    /// What makes a function a candidate.
    pub rule: CandidateRule,
    /// Decides which requests are searched, and where a local search starts.
    pub seed: u64,
    /// What a split is to make small.
    pub objective: Objective,
    /// For [`Objective::Throughput`]: whether connections beyond those of the trace repeat them.
    pub repeat_connections: bool,
    /// How to go about it; `None` for the cheapest way that proves its result.
    pub strategy: Option<Strategy>,
    /// Calls to delegate, beside the split or instead of one; on so many cores in all.
    pub delegated_calls: Option<delegated::Wanted>,
    /// Whether to look for calls of a split without such that had better end with a hop back.
    pub delegate: Delegate,
    /// Functions at the end of whose calls no thread can go back.
    pub one_way: &'a [FunctionId],
    /// Longest time to look for splits; the result then depends on the speed of the host.
    pub time_limit: Option<Duration>,
    /// Whether to evaluate the result on requests that were not searched.
    pub evaluate_held_out: bool,
    /// Whether to find out if fewer cores do as well, where the result is evaluated.
    pub compare_fewer: bool,
    /// Where to keep what is learnt, and to find what was.
    pub checkpoint: Option<&'a Checkpoint>,
}

impl Default for Settings<'_> {
    /// One function on each of two cores, for the fewest L2 misses, from ten requests; nothing is
    /// asked beyond that split and its held-out evaluation.
    fn default() -> Self {
        Settings {
            cores: 2,
            functions: 2,
            searched: Searched::Sample(10),
            rule: CandidateRule::default(),
            seed: 1,
            objective: Objective::L2,
            repeat_connections: false,
            strategy: None,
            delegated_calls: None,
            delegate: Delegate::Never,
            one_way: &[],
            time_limit: None,
            evaluate_held_out: true,
            compare_fewer: false,
            checkpoint: None,
        }
    }
}

/// The split found and how it was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which requests were used for what.
    pub train_test: TrainTestSplit,
    /// The functions the rule admits.
    pub candidates: Candidates,
    /// The chosen functions, each with its core.
    pub split: Placement,
    /// Those of them to whose callers threads go back.
    pub delegated: Vec<FunctionId>,
    /// How it compares, on the searched requests and on others.
    pub evaluated: Evaluated,
    /// What going back would do, or does; `None` when nobody asked, or the search was stopped.
    pub delegation: Option<Delegation>,
    /// The delegated calls that were added to the split that the ranking is of, if any were asked.
    pub added: Option<delegated::Added>,
    /// The best splits over fewer cores, by ascending number, if they were asked for.
    pub fewer: Vec<Fewer>,
    /// The best splits, as indices of candidate groups, and what is known of all others.
    pub ranking: Ranking,
    /// Number of distinct sets of occurrences that the splits put on cores.
    pub sets_replayed: usize,
}

impl Outcome {
    /// The split as it is to be replayed, hops back included.
    pub(crate) fn replayed(&self) -> Split {
        let split = Split::new(self.split.iter().copied());
        split.delegating(self.delegated.iter().copied())
    }

    /// The requests that the choice of the split depends on, candidates aside; ascending.
    pub(crate) fn seen(&self) -> Vec<RequestId> {
        let mut seen: Vec<RequestId> = match self.evaluated.finals {
            Finals::Replayed { .. } => self.train_test.training().collect(),
            _ => self.train_test.searched.clone(),
        };
        seen.sort_unstable();
        seen
    }

    /// The fewest cores that do as well on requests not searched, if that was found out.
    pub fn as_good_with_fewer(&self, objective: Objective) -> Option<&Fewer> {
        let held_out = self.evaluated.held_out.as_ref()?;
        fewer::as_good(&self.fewer, held_out, objective)
    }
}

/// The requests that this search uses; none are held out where it is not to be evaluated.
fn train_test_split_of(trace: &Trace, settings: &Settings<'_>) -> Result<TrainTestSplit, Error> {
    let mut train_test = TrainTestSplit::of(trace.requests(), settings.searched, settings.seed)?;
    if !settings.evaluate_held_out {
        train_test.held_out.clear();
    }
    Ok(train_test)
}

/// The candidates that this search chooses from.
fn candidates_of(
    trace: &Trace,
    train_test: &TrainTestSplit,
    settings: &Settings<'_>,
    progress: &dyn Progress,
) -> Result<Candidates, Error> {
    let training: Vec<RequestId> = train_test.training().collect();
    progress.begin("counting calls", None);
    let candidates = Candidates::of(trace, &training, &settings.rule)?;
    progress.end();
    match candidates.groups < settings.functions {
        false => Ok(candidates),
        true => Err(Error::TooFewCandidates {
            found: candidates.groups as usize,
            wanted: settings.functions,
            min_share: settings.rule.min_share,
            max_calls: settings.rule.max_calls,
        }),
    }
}

/// Searches `trace` for the split with the smallest value on `machines`. Hops back are asked
/// about only where there is one machine.
///
/// # Errors
/// Too few requests or candidates, or what reading or replaying the trace says.
///
/// # Panics
/// When there is no machine, when there are no cores, or fewer functions than cores: callers refuse
/// that with their own words.
pub fn partition(
    trace: &Trace,
    machines: &[Weighted],
    settings: &Settings<'_>,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    if let Some(wanted) = &settings.delegated_calls {
        return with_delegated_calls((trace, machines), settings, wanted, progress);
    }
    let mut outcome = search_and_evaluate(trace, machines, settings, progress)?;
    let [machine] = machines else {
        return Ok(outcome);
    };
    if settings.delegate == Delegate::Never || progress.is_stopped() {
        return Ok(outcome);
    }
    let found = FoundSplit {
        trace,
        machine: &machine.machine,
        train_test: &outcome.train_test,
        split: &outcome.split,
        evaluated: &outcome.evaluated,
    };
    let found = delegation(&found, settings.one_way, settings.objective, progress)?;
    if settings.delegate == Delegate::Take {
        outcome.delegated.clone_from(&found.best.delegated);
        outcome.evaluated.searched.clone_from(&found.searched);
        outcome.evaluated.held_out.clone_from(&found.held_out);
    }
    outcome.delegation = Some(found);
    Ok(outcome)
}

/// The best calls to delegate, beside the best split or instead of it.
fn with_delegated_calls(
    (trace, machines): (&Trace, &[Weighted]),
    settings: &Settings<'_>,
    wanted: &delegated::Wanted,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    let split = match wanted.with_split {
        true => Some(search_and_evaluate(trace, machines, settings, progress)?),
        false => None,
    };
    let base = split
        .as_ref()
        .map_or(&[][..], |found| &found.split)
        .to_vec();
    let train_test = train_test_split_of(trace, settings)?;
    let asked = CallsWanted {
        trace,
        machines,
        train_test: &train_test,
        base: &base,
        wanted,
        cores: settings.cores,
        objective: settings.objective,
        strategy: settings.strategy,
        one_way: settings.one_way,
        time_limit: settings.time_limit,
        progress,
    };
    let found = asked.find()?;
    let delegated = found.calls.iter().map(|&(function, _)| function).collect();
    let placed = [&base[..], &found.calls].concat();
    let (candidates, ranking) = (found.candidates, found.ranking);
    Ok(match split {
        Some(split) => Outcome {
            split: placed,
            delegated,
            added: Some(delegated::Added {
                candidates,
                ranking,
                alone: split.evaluated,
            }),
            evaluated: found.evaluated,
            ..split
        },
        None => Outcome {
            train_test,
            split: placed,
            delegated,
            evaluated: found.evaluated,
            delegation: None,
            added: None,
            fewer: Vec::new(),
            sets_replayed: ranking.evaluated as usize,
            ranking,
            candidates,
        },
    })
}

/// What this search replays its finalists with, or why it does not.
fn timed_replay_of<'a>(
    (trace, machines, train_test): (&'a Trace, &'a [Weighted], &'a TrainTestSplit),
    functions: &'a [FunctionId],
    settings: &Settings<'_>,
    progress: &dyn Progress,
) -> Result<Result<TimedReplay<'a>, Finals>, Error> {
    let Objective::Throughput { connections } = settings.objective else {
        return Ok(Err(Finals::NotAsked));
    };
    progress.begin("reading connections", None);
    let replay = TimedReplay::new(Wanted {
        trace,
        machines,
        train_test,
        functions,
        connections,
        repeat_connections: settings.repeat_connections,
    });
    progress.end();
    replay
}

/// The best split, whose threads stay where calls take them.
fn search_and_evaluate(
    trace: &Trace,
    machines: &[Weighted],
    settings: &Settings<'_>,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    assert!(
        0 < settings.cores && settings.cores <= settings.functions,
        "a split has at least one core, and a function for each"
    );
    let train_test = train_test_split_of(trace, settings)?;
    let candidates = candidates_of(trace, &train_test, settings, progress)?;
    let functions = candidates.representatives();
    progress.begin("preparing the searched requests", None);
    let options = ReplayOptions {
        requests: Some(train_test.searched.clone()),
        ..ReplayOptions::default()
    };
    let simulated: Vec<&Machine> = machines.iter().map(|of| &of.machine).collect();
    let prepared = Prepared::new(trace, &simulated, &functions, &options)?;
    let rounds = rounds(train_test.searched.len());
    let factors = Factors::of(machines, settings.objective, &prepared, rounds)?;
    let terms = factors.terms(&prepared, rounds);
    progress.end();
    let mut evaluator = match &terms {
        Some(terms) => Evaluator::new(terms, &functions),
        None => Evaluator::in_full(&prepared, &factors, &functions, rounds),
    };
    if let Some(checkpoint) = settings.checkpoint {
        let searched = (functions.clone(), train_test.searched.clone());
        evaluator.keep_in(checkpoint, factors.subject(searched, rounds));
    }
    let search = Search {
        cores: settings.cores,
        functions: settings.functions,
        strategy: settings.strategy,
        seed: settings.seed,
        keep: settings.objective.replayed_in_full(),
        until: settings.time_limit.map(|limit| Instant::now() + limit),
        progress,
    };
    let ranking = strategy::search(&mut evaluator, &search);
    evaluator.keep();
    let timed = timed_replay_of(
        (trace, machines, &train_test),
        &functions,
        settings,
        progress,
    )?;
    let evaluation = HeldOutEvaluation {
        timed: timed.as_ref().map_err(Clone::clone),
        trace,
        machines,
        factors: &factors,
        train_test: &train_test,
        prepared: &prepared,
        progress,
    };
    let (split, evaluated) = evaluation.evaluate(fewer::named(&ranking.best, &functions))?;
    let sets_replayed = evaluator.sets_known();
    let fewer = match settings.compare_fewer && evaluated.held_out.is_some() {
        true => evaluation.evaluate_fewer(fewer::rankings(&mut evaluator, &search), &functions)?,
        false => Vec::new(),
    };
    evaluator.keep();
    Ok(Outcome {
        train_test,
        split,
        delegated: Vec::new(),
        evaluated,
        delegation: None,
        added: None,
        fewer,
        sets_replayed,
        ranking,
        candidates,
    })
}
