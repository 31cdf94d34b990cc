//! The search: at which function entries should a server's threads change core?
//!
//! [`partition`] converts a trace to a plan in these steps. It divides the requests into searched
//! and held-out ones ([`requests`]). It finds the functions at which a thread could change core
//! ([`candidates`]). It ranks splits by the misses of each core's private caches ([`evaluate`],
//! [`strategy`]). It replays the best few in full, shared L3 included, and evaluates the best of
//! them on the held-out requests ([`held_out`]); for throughput, the best by a timed replay
//! ([`finalists`]). Finally, it checks which calls are better delegated ([`mod@delegation`]).
//! Single calls of functions are candidates too if the trace has functions for them. Calls that run
//! on another core than their callers, with a home core or added to a split, need another search
//! ([`delegated`]).
//!
//! [`attribution`] explains the effect of a plan, and [`expected`] its speed.

#![forbid(unsafe_code)]

pub mod alternatives;
pub mod attribution;
pub mod backend;
pub mod by_argument;
pub mod candidates;
pub mod carriers;
pub mod checkpoint;
mod comparison;
pub mod delegated;
pub mod delegation;
mod error;
pub mod evaluate;
pub mod expected;
pub mod fewer;
pub mod finalists;
pub mod held_out;
pub mod hop_cost;
pub mod machine_list;
pub mod objective;
pub mod plan;
pub mod progress;
pub mod request_function;
pub mod requests;
pub mod resamples;
mod settings;
pub mod strategy;
pub mod weights;

pub use error::Error;
pub use held_out::{Comparison, Evaluated};
pub use settings::Settings;

use candidates::Candidates;
use corehop_simulator::{Machine, Prepared, Split};
use corehop_traces::{FunctionId, RequestId, Trace};
use delegated::CallsWanted;
use delegation::{Delegate, Delegation, FoundSplit, delegation};
use evaluate::{Evaluator, Placement};
use fewer::Fewer;
use finalists::{Finals, TimedReplay, Wanted};
use held_out::HeldOutEvaluation;
use objective::Objective;
use progress::Progress;
use requests::TrainTestSplit;
use std::time::Instant;
use strategy::{Ranking, Search};
use weights::{Factors, Weighted};

/// The split found, and data about the search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which requests are for the search and which for the evaluation.
    pub train_test: TrainTestSplit,
    /// The functions that satisfy the rule.
    pub candidates: Candidates,
    /// The chosen functions, each with its core.
    pub split: Placement,
    /// Those of them with delegated calls.
    pub delegated: Vec<FunctionId>,
    /// Its evaluation, on the searched requests and on others.
    pub evaluated: Evaluated,
    /// The effect of delegated calls; `None` if not requested, or if the search was stopped.
    pub delegation: Option<Delegation>,
    /// The delegated calls added to the ranked split, if requested.
    pub added: Option<delegated::Added>,
    /// The best splits over fewer cores, by ascending number of cores, if requested.
    pub fewer: Vec<Fewer>,
    /// The best splits, as indices of candidate groups, and bounds for all others.
    pub ranking: Ranking,
    /// Number of distinct sets of occurrences that the splits put on cores.
    pub sets_replayed: usize,
}

impl Outcome {
    /// Returns the split for replays, delegated calls included.
    pub(crate) fn replayed(&self) -> Split {
        let split = Split::new(self.split.iter().copied());
        split.delegating(self.delegated.iter().copied())
    }

    /// Returns the requests on which the choice of the split depends, candidates aside; ascending.
    pub(crate) fn seen(&self) -> Vec<RequestId> {
        let mut seen: Vec<RequestId> = match self.evaluated.finals {
            Finals::Replayed { .. } => self.train_test.training().collect(),
            _ => self.train_test.searched.clone(),
        };
        seen.sort_unstable();
        seen
    }

    /// Returns the split over the fewest cores that is as good on requests not searched, if that
    /// was evaluated.
    pub fn as_good_with_fewer(&self, objective: Objective) -> Option<&Fewer> {
        let held_out = self.evaluated.held_out.as_ref()?;
        fewer::as_good(&self.fewer, held_out, objective)
    }
}

/// Returns the candidates of this search.
fn candidates_of(
    trace: &Trace,
    train_test: &TrainTestSplit,
    settings: &Settings<'_>,
    progress: &dyn Progress,
) -> Result<Candidates, Error> {
    let training: Vec<RequestId> = train_test.training().collect();
    Error::needs_functions(trace)?;
    let candidates = Candidates::of(trace, &training, &settings.rule, progress)?;
    match candidates.groups < settings.functions {
        false => Ok(candidates),
        true => Err(Error::too_few(
            &candidates,
            settings.functions,
            &settings.rule,
        )),
    }
}

/// Searches `trace` for the split with the smallest value on `machines`. Delegated calls are
/// evaluated only with one machine.
///
/// # Errors
/// Fails if there are too few requests or candidates, or if the trace cannot be read or replayed.
///
/// # Panics
/// If there is no machine, no core, or fewer functions than cores. Callers reject these with their
/// own messages.
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

/// Returns the best calls to delegate, added to the best split or instead of it.
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
    let train_test = settings.train_test_split(trace)?;
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

/// Returns the timed replay of this search, or why there is none.
fn timed_replay_of<'a>(
    (trace, machines, train_test): (&'a Trace, &'a [Weighted], &'a TrainTestSplit),
    functions: &'a [FunctionId],
    settings: &Settings<'_>,
    progress: &dyn Progress,
) -> Result<Result<TimedReplay<'a>, Finals>, Error> {
    let Objective::Throughput { connections } = settings.objective else {
        return Ok(Err(Finals::NotAsked));
    };
    let requests: Vec<RequestId> = train_test.training().collect();
    let total = trace.executions_read(Some(&requests));
    let stage = ("code blocks of connections read", total);
    progress::stage(progress, stage, |tell| {
        let executions = trace.executions_of(&requests).telling(tell);
        let wanted = Wanted {
            trace,
            machines,
            functions,
            connections,
            repeat_connections: settings.repeat_connections,
        };
        TimedReplay::new(executions, wanted)
    })
}

/// Prepares replays of the searched requests.
fn prepared(
    trace: &Trace,
    machines: &[Weighted],
    train_test: &TrainTestSplit,
    functions: &[FunctionId],
    progress: &dyn Progress,
) -> Result<Prepared, Error> {
    let options = train_test.searched_options();
    let simulated: Vec<&Machine> = machines.iter().map(|of| &of.machine).collect();
    let stage = ("code blocks prepared for the search", progress);
    let prepared = progress::replaying(stage, (trace, &options), |options| {
        Prepared::new(trace, &simulated, functions, options)
    });
    Ok(prepared?)
}

/// Returns the best split, without delegated calls.
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
    let train_test = settings.train_test_split(trace)?;
    let candidates = candidates_of(trace, &train_test, settings, progress)?;
    let functions = candidates.representatives();
    let prepared = prepared(trace, machines, &train_test, &functions, progress)?;
    let rounds = train_test.rounds();
    let factors = Factors::of(machines, settings.objective, &prepared, rounds)?;
    let is_sum = !train_test.last_counts;
    let terms = is_sum.then(|| factors.terms(&prepared, rounds)).flatten();
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
