//! Splits to compare the plan with: other splits with as many functions, the best over other
//! numbers of cores, and the plan itself on other machines.
//!
//! A plan stores none of this, so it is recomputed, with the plan's seed and number of searched
//! requests. Random splits (or all splits, if they are few) show the plan's rank among them. A
//! local search shows what other numbers of cores can achieve. Rejected: to store it in the plan,
//! which people edit.

use crate::error::Error;
use corehop_partitioner::attribution::{Explanation, others};
use corehop_partitioner::candidates::{CandidateRule, Candidates};
use corehop_partitioner::evaluate::{Evaluator, IndexedPlacement, rounds};
use corehop_partitioner::objective::Objective;
use corehop_partitioner::progress::{self, Progress};
use corehop_partitioner::requests::{Searched, TrainTestSplit};
use corehop_partitioner::strategy::{EXHAUSTIVE_SPLITS, Search, Strategy, combinations, search};
use corehop_partitioner::weights::{Factors, Weighted};
use corehop_partitioner::{Comparison, Settings, partition};
use corehop_simulator::{Machine, Prepared, Replay, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::{FunctionId, RequestId};
use serde_json::{Value, json};

/// Number of searched requests if the plan does not record it.
const SEARCHED: u64 = 10;

/// Results of other splits.
pub struct SearchSpace {
    pub drawn: Drawn,
    /// The best split found over this many cores, on requests not searched; empty if there are too
    /// few candidates or requests for a search.
    pub cores: Vec<(u32, Comparison)>,
    /// By machine: on one core and with the plan, on the counted requests.
    pub machines: Vec<(String, Replay, Replay)>,
}

/// Splits with as many functions as the plan, evaluated by each core separately.
pub struct Drawn {
    /// L2 misses of each, ascending, over all searched requests and rounds.
    pub values: Vec<u64>,
    /// Whether these are all existing splits.
    pub all: bool,
    pub one_core: u64,
    /// The plan's value, as if no thread returned.
    pub plan: u64,
    /// Number of requests in the values, including rounds.
    pub requests: u64,
}

impl SearchSpace {
    pub fn of(explained: &Explanation<'_>, progress: &dyn Progress) -> Result<SearchSpace, Error> {
        let parts = parts(explained)?;
        Ok(SearchSpace {
            drawn: drawn(explained, &parts, progress)?,
            cores: cores(explained, &parts, progress),
            machines: machines(explained, progress)?,
        })
    }

    /// Renders JSON for programs; `corehop schema report --keys` explains its keys.
    pub fn json(&self) -> Value {
        let drawn = &self.drawn;
        let cores = self.cores.iter().map(|(cores, of)| {
            json!({
                "cores": cores, "requests": of.requests, "baseline": of.baseline,
                "split": of.split, "hops": of.hops,
            })
        });
        let machines = self.machines.iter().map(|(name, before, after)| {
            json!({ "machine": name, "baseline": before.counters, "split": after.counters })
        });
        json!({
            "splits": {
                "all": drawn.all, "one_core": drawn.one_core, "plan": drawn.plan,
                "requests": drawn.requests, "values": drawn.values,
            },
            "cores": cores.collect::<Vec<_>>(),
            "machines": machines.collect::<Vec<_>>(),
        })
    }
}

/// Returns the requests that the plan was searched on, and those that evaluate it.
fn parts(explained: &Explanation<'_>) -> Result<TrainTestSplit, Error> {
    let complete = (explained.requests.len() + explained.left_out()) as u64;
    let expected = explained
        .plan
        .expected
        .map(|expected| expected.searched.requests);
    let searched = expected.unwrap_or(SEARCHED.min(complete / 2));
    let searched = Searched::Sample(searched.clamp(1, complete.max(1)) as usize);
    Ok(TrainTestSplit::of(
        explained.trace.requests(),
        searched,
        explained.plan.seed,
    )?)
}

fn drawn(
    explained: &Explanation<'_>,
    parts: &TrainTestSplit,
    progress: &dyn Progress,
) -> Result<Drawn, Error> {
    let (trace, machine) = (explained.trace, explained.machine);
    let learning: Vec<RequestId> = parts.training().collect();
    let candidates = Candidates::of(trace, &learning, &CandidateRule::default(), progress)?;
    let mut functions = others(&candidates, &explained.placed);
    functions.extend(explained.placed.iter().map(|placed| placed.function));
    functions.sort_unstable();
    let options = ReplayOptions {
        requests: Some(parts.searched.clone()),
        ..ReplayOptions::default()
    };
    let rounds = rounds(parts.searched.len());
    let machines = [Weighted::from(machine.clone())];
    let prepared = Prepared::new(trace, &[machine], &functions, &options)?;
    let factors = Factors::of(&machines, Objective::L2, &prepared, rounds)?;
    let terms = factors.terms(&prepared, rounds);
    let mut evaluator = match &terms {
        Some(terms) => Evaluator::new(terms, &functions),
        None => Evaluator::in_full(&prepared, &factors, &functions, rounds),
    };
    let (count, cores) = (explained.placed.len() as u32, explained.plan.cores);
    let few = combinations(functions.len() as u64, count.into()) <= EXHAUSTIVE_SPLITS;
    let all = few && count == cores;
    let wanted = Search {
        cores,
        functions: count,
        strategy: Some(if all {
            Strategy::Exhaustive
        } else {
            Strategy::Random
        }),
        seed: explained.plan.seed,
        keep: usize::MAX,
        until: None,
        progress,
    };
    let ranking = search(&mut evaluator, &wanted);
    let plan = choice(explained, &functions);
    let values = evaluator.evaluate(&[vec![(0, 0)], plan]);
    Ok(Drawn {
        values: ranking.best.iter().map(|(value, _)| *value).collect(),
        all,
        one_core: values[0],
        plan: values[1],
        requests: (parts.searched.len() * rounds) as u64,
    })
}

/// Converts the plan to a search's form: indexes into `functions`, with cores numbered by first
/// use.
fn choice(explained: &Explanation<'_>, functions: &[FunctionId]) -> IndexedPlacement {
    let place = |function| functions.binary_search(&function).expect("it was added") as u32;
    let placed = explained.placed.iter();
    let mut choice: IndexedPlacement = placed.map(|of| (place(of.function), of.core.0)).collect();
    choice.sort_unstable();
    let mut met = Vec::new();
    for (_, core) in &mut choice {
        let known = met.iter().position(|of| of == core);
        *core = known.unwrap_or_else(|| {
            met.push(*core);
            met.len() - 1
        }) as u32;
    }
    choice
}

/// Runs a local search over 2 cores and more, up to the plan's number.
fn cores(
    explained: &Explanation<'_>,
    parts: &TrainTestSplit,
    progress: &dyn Progress,
) -> Vec<(u32, Comparison)> {
    let cores = explained.plan.cores;
    let settings = Settings {
        cores,
        functions: (explained.placed.len() as u32).max(cores),
        searched: Searched::Sample(parts.searched.len()),
        seed: explained.plan.seed,
        strategy: Some(Strategy::Local),
        compare_fewer: true,
        ..Settings::default()
    };
    let machines = [Weighted::from(explained.machine.clone())];
    if cores < 2 || parts.held_out.is_empty() {
        return Vec::new();
    }
    let Ok(outcome) = partition(explained.trace, &machines, &settings, progress) else {
        return Vec::new();
    };
    let fewer = outcome.fewer.iter();
    let fewer = fewer.map(|fewer| (fewer.cores, fewer.held_out.clone()));
    fewer
        .chain([(cores, outcome.evaluated.verdict().clone())])
        .collect()
}

/// Replays the plan on every bundled machine with enough cores, and on its own machine.
fn machines(
    explained: &Explanation<'_>,
    progress: &dyn Progress,
) -> Result<Vec<(String, Replay, Replay)>, Error> {
    let mut machines = vec![explained.machine.clone()];
    for name in Machine::bundled().filter(|name| *name != explained.machine.name) {
        machines.push(Machine::named_or_path(name)?);
    }
    machines.retain(|machine| machine.cores >= explained.split.cores());
    let one_core = Split::default();
    let setting = |machine, split| Setting { machine, split };
    let before = machines.iter().map(|machine| setting(machine, &one_core));
    let after = machines
        .iter()
        .map(|machine| setting(machine, &explained.split));
    let settings: Vec<Setting<'_>> = before.chain(after).collect();
    let trace = explained.trace;
    let options = ReplayOptions {
        requests: Some(explained.requests.clone()),
        warm_up_requests: explained.warm_up,
        progress: None,
        page_sizes: None,
    };
    let stage = ("code blocks replayed on other machines", progress);
    let mut before = progress::replaying(stage, (trace, &options), |options| {
        replay_all(trace, &settings, options)
    })?;
    let after = before.split_off(machines.len());
    let names = machines.into_iter().map(|machine| machine.name);
    let replays = before.into_iter().zip(after);
    let named = names
        .zip(replays)
        .map(|(name, (before, after))| (name, before, after));
    Ok(named.collect())
}
