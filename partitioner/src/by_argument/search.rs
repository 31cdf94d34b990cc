//! The search by argument: which function, by which argument, on how many cores, and after how many
//! calls an object has one of them.
//!
//! Candidates are few: the arguments that are objects ([`object_arguments`]), those first whose
//! objects' lines are referenced again most. So nothing needs bounds. Each is replayed in full
//! on the searched requests, once for each number of cores and each of [`super::AFTER`] calls that
//! any of its objects exceeds. The one with the smallest value, L2 misses or whatever is to be
//! small, is taken; of equals the one with fewer cores, then with fewer hops, then the one that is
//! first among the candidates, then the one after fewer calls. The verdict is of requests that were
//! not searched, after others have warmed the caches.

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

/// So many candidates are tried.
pub const MOST_TRIED: usize = 24;

/// What is searched.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// The most cores; from 2 on all numbers are tried.
    pub cores: u32,
    /// Requests to search on.
    pub searched: Searched,
    /// Draws them.
    pub seed: u64,
    /// Functions are called in at least this share of the requests.
    pub min_share: f64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The function and its argument.
    pub argument: ObjectArgument,
    /// On so many cores.
    pub cores: u32,
    /// The calls after which an object has one of them.
    pub after: u32,
    /// Arguments that were tried.
    pub tried: usize,
    /// Replays that were compared.
    pub replays: usize,
    /// Which requests were searched, and which judge.
    pub train_test: TrainTestSplit,
    /// On the requests searched, cold caches at the start.
    pub searched: Comparison,
    /// On requests not searched; `None` where all were.
    pub held_out: Option<Comparison>,
}

impl Found {
    /// The comparison to believe: on requests that were not searched, where there are any.
    pub fn verdict(&self) -> &Comparison {
        self.held_out.as_ref().unwrap_or(&self.searched)
    }

    /// What the function goes by.
    pub fn by(&self) -> By {
        By {
            argument: self.argument.argument,
            after: self.after,
        }
    }
}

/// Searches for what makes each of these objectives small, in their order; finds none at all where
/// no function's argument is known to be one of several objects.
///
/// # Errors
/// As [`object_arguments`], and what replaying says.
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

/// A split beside one core: on the requests searched, which are prepared, and on those held out.
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
