//! The search by argument: which function, by which argument, on how many cores, and after how many
//! calls an object gets a core.
//!
//! Candidates are few: the arguments that are objects ([`object_arguments`]), those with the most
//! reused lines first. So the search needs no bounds. Each candidate is replayed in full on the
//! searched requests, for each number of cores and each number of calls in [`super::AFTER`] that
//! any of its objects exceeds. The search selects the smallest value of the objective. Ties go to
//! fewer cores, then fewer hops, then the earlier candidate, then fewer calls. The verdict comes
//! from requests that were not searched, after other requests have warmed the caches.

use super::choices::Choices;
use super::find::object_arguments;
use super::object::ObjectArgument;
use crate::Error;
use crate::comparison::{Comparison, compare};
use crate::evaluate::rounds;
use crate::held_out::compare_on;
use crate::objective::Objective;
use crate::progress::Progress;
use crate::requests::{Searched, TrainTestSplit};
use crate::weights::Weighted;
use corehop_plan::By;
use corehop_simulator::{Prepared, ReplayOptions, Split};
use corehop_traces::{FunctionId, Trace};
use rayon::prelude::*;

/// Maximum number of candidates tried.
pub const MOST_TRIED: usize = 24;

/// Parameters of the search.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// Maximum number of cores; all numbers from 2 are tried.
    pub cores: u32,
    /// Requests to search on.
    pub searched: Searched,
    /// Seed for sampling them.
    pub seed: u64,
    /// Minimum share of requests in which a function is called.
    pub min_share: f64,
}

/// Result of the search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The function and its argument.
    pub argument: ObjectArgument,
    /// Number of cores.
    pub cores: u32,
    /// Number of calls after which an object gets a core.
    pub after: u32,
    /// Number of arguments tried.
    pub tried: usize,
    /// Number of replays compared.
    pub replays: usize,
    /// Which requests are for the search and which for the evaluation.
    pub train_test: TrainTestSplit,
    /// On the searched requests, with cold caches at the start.
    pub searched: Comparison,
    /// On requests not searched; `None` if all were searched.
    pub held_out: Option<Comparison>,
}

impl Found {
    /// Returns the comparison on requests that were not searched, or the other if there are none.
    pub fn verdict(&self) -> &Comparison {
        self.held_out.as_ref().unwrap_or(&self.searched)
    }

    /// Returns the argument and the number of calls, for a plan.
    pub fn by(&self) -> By {
        By {
            argument: self.argument.argument,
            after: self.after,
        }
    }
}

/// Searches the best choice for each of these objectives, in their order. Returns nothing if no
/// function has an argument known to be one of several objects.
///
/// # Errors
/// As [`object_arguments`], or an error of the replay.
pub fn search(
    trace: &Trace,
    machine: &Weighted,
    sought: &Sought,
    objectives: &[Objective],
    progress: &dyn Progress,
) -> Result<Vec<Found>, Error> {
    let train_test = TrainTestSplit::of(trace.requests(), sought.searched, sought.seed)?;
    let mut candidates = object_arguments(trace, sought.min_share, progress)?.all;
    candidates.truncate(MOST_TRIED);
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let functions: Vec<FunctionId> = candidates.iter().map(|one| one.function).collect();
    let options = ReplayOptions {
        requests: Some(train_test.searched.clone()),
        ..ReplayOptions::default()
    };
    let prepared = Prepared::new(trace, &[&machine.machine], &functions, &options)?;
    let choices = Choices::of(trace, &candidates)?;
    let all = choices.all(sought.cores);
    progress.begin("plans by argument tried", Some(all.len() as u64));
    let rounds = rounds(train_test.searched.len());
    let values = all.par_iter().map(|choice| {
        let split = choices.split(choice)?;
        let replay = prepared.replay_rounds(&machine.machine, &split, rounds)?;
        progress.advance(1);
        let values = objectives.iter().map(|objective| objective.of(&replay));
        Ok((values.collect(), replay.hops))
    });
    let values: Vec<(Vec<u64>, u64)> = values.collect::<Result<_, Error>>()?;
    progress.end();
    let found = (0..objectives.len()).map(|objective| {
        let ranks = all.iter().zip(&values);
        let ranks = ranks.map(|(choice, (values, hops))| choice.rank(values[objective], *hops));
        let best = ranks.min().expect("there is a candidate").choice;
        let split = choices.split(&best)?;
        let (searched, held_out) =
            judge(trace, split, machine, (&prepared, &train_test), progress)?;
        Ok(Found {
            argument: candidates[best.place].clone(),
            cores: best.cores,
            after: best.after,
            tried: functions.len(),
            replays: all.len(),
            train_test: train_test.clone(),
            searched,
            held_out,
        })
    });
    found.collect()
}

/// Compares a split with one core, on the prepared searched requests and on the held-out ones.
pub(crate) fn judge(
    trace: &Trace,
    split: Split,
    machine: &Weighted,
    (prepared, train_test): (&Prepared, &TrainTestSplit),
    progress: &dyn Progress,
) -> Result<(Comparison, Option<Comparison>), Error> {
    let one_core = prepared.replay(&machine.machine, &Split::default())?;
    let with_split = prepared.replay(&machine.machine, &split)?;
    let searched = compare(one_core.counters, &with_split);
    let machines = std::slice::from_ref(machine);
    let held_out = match train_test.held_out.is_empty() {
        true => None,
        false => compare_on((trace, machines, train_test), &[split], progress)?.pop(),
    };
    Ok((searched, held_out))
}
