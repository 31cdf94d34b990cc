//! The search by argument: which function, by which argument, on how many cores.
//!
//! Candidates are few: the arguments that are objects ([`object_arguments`]), those first whose
//! objects' lines are referenced again most. So nothing needs bounds. Each is replayed in full
//! on the searched requests, once for each number of cores, and the one with the fewest L2 misses
//! is taken; of equals the one with fewer cores, then the one that is first among the candidates.
//! The verdict is of requests that were not searched, after others have warmed the caches.

use super::find::object_arguments;
use super::object::ObjectArgument;
use crate::Error;
use crate::comparison::{Comparison, compare};
use crate::evaluate::rounds;
use crate::held_out::compare_on;
use crate::progress::Progress;
use crate::requests::{Searched, TrainTestSplit};
use crate::weights::Weighted;
use corehop_plans::Mode;
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

/// Searches; `None` where no function's argument is known to be one of several objects.
///
/// # Errors
/// As [`object_arguments`], and what replaying says.
pub fn search(
    trace: &Trace,
    machine: &Weighted,
    sought: &Sought,
    progress: &dyn Progress,
) -> Result<Option<Found>, Error> {
    let train_test = TrainTestSplit::of(trace.requests(), sought.searched, sought.seed)?;
    progress.begin("following arguments", None);
    let candidates = object_arguments(trace, sought.min_share);
    progress.end();
    let mut candidates = candidates?.all;
    candidates.truncate(MOST_TRIED);
    if candidates.is_empty() {
        return Ok(None);
    }
    let functions: Vec<FunctionId> = candidates.iter().map(|one| one.function).collect();
    let options = ReplayOptions {
        requests: Some(train_test.searched.clone()),
        ..ReplayOptions::default()
    };
    let prepared = Prepared::new(trace, &[&machine.machine], &functions, &options)?;
    let choices =
        (0..candidates.len()).flat_map(|place| (2..=sought.cores).map(move |cores| (place, cores)));
    let choices: Vec<(usize, u32)> = choices.collect();
    progress.begin("replaying objects on cores", Some(choices.len() as u64));
    let rounds = rounds(train_test.searched.len());
    let misses = choices.par_iter().map(|&(place, cores)| {
        let split = split_of(trace, &candidates[place], cores)?;
        let replay = prepared.replay_rounds(&machine.machine, &split, rounds)?;
        progress.advance(1);
        Ok((replay.counters.l2.misses(), cores, place))
    });
    let misses: Vec<(u64, u32, usize)> = misses.collect::<Result<_, Error>>()?;
    progress.end();
    let (_, cores, place) = *misses.iter().min().expect("there is a candidate");
    let split = split_of(trace, &candidates[place], cores)?;
    let one_core = prepared.replay(&machine.machine, &Split::default())?;
    let searched = compare(
        one_core.counters,
        &prepared.replay(&machine.machine, &split)?,
    );
    let machines = std::slice::from_ref(machine);
    let held_out = match train_test.held_out.is_empty() {
        true => None,
        false => compare_on(trace, machines, &train_test, &[split])?.pop(),
    };
    Ok(Some(Found {
        argument: candidates.swap_remove(place),
        cores,
        tried: functions.len(),
        replays: misses.len(),
        train_test,
        searched,
        held_out,
    }))
}

fn split_of(trace: &Trace, one: &ObjectArgument, cores: u32) -> Result<Split, Error> {
    let by_argument = [(one.function, one.argument, Mode::Enter)];
    Ok(Split::default().by_argument(trace, &by_argument, cores)?)
}
