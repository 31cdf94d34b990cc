//! The search for one call: which function, at which of its calls.

use super::choices::{Choice, choices};
use crate::Error;
use crate::by_argument::judge;
use crate::candidates::CandidateRule;
use crate::comparison::Comparison;
use crate::evaluate::rounds;
use crate::objective::Objective;
use crate::plan::request;
use crate::progress::Progress;
use crate::requests::{Searched, TrainTestSplit};
use crate::weights::Weighted;
use corehop_plans::{KthCall, Mode};
use corehop_simulator::{CoreId, NumberedCalls, Prepared, ReplayOptions, Split};
use corehop_traces::{FunctionId, Trace};
use rayon::prelude::*;

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The call at which threads go to core 1.
    pub choice: Choice,
    /// The function that each request enters, where they go to core 0.
    pub request: FunctionId,
    /// Calls that were tried, each by a replay.
    pub tried: usize,
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
}

/// Searches for what makes the objective small; `None` where no function is called more than once
/// in most requests. Of equals the call that comes first is taken.
///
/// # Errors
/// [`Error::NoRequestFunction`] where requests do not begin at a function that can be hooked; what
/// reading the trace and replaying say.
pub fn search(
    trace: &Trace,
    machine: &Weighted,
    (searched, seed): (Searched, u64),
    (rule, objective): (&CandidateRule, Objective),
    progress: &dyn Progress,
) -> Result<Option<Found>, Error> {
    let request = request_function(trace).ok_or(Error::NoRequestFunction)?;
    let train_test = TrainTestSplit::of(trace.requests(), searched, seed)?;
    progress.begin("numbering calls", None);
    let mut choices = choices(trace, &train_test.searched, rule)?;
    choices.retain(|choice| choice.function != request);
    let mut functions: Vec<FunctionId> = choices.iter().map(|choice| choice.function).collect();
    functions.sort_unstable();
    functions.dedup();
    let calls = NumberedCalls::of(trace, functions.iter().copied(), &[])?;
    progress.end();
    functions.push(request);
    let options = ReplayOptions {
        requests: Some(train_test.searched.clone()),
        ..ReplayOptions::default()
    };
    let prepared = Prepared::new(trace, &[&machine.machine], &functions, &options)?;
    progress.begin("calls tried", Some(choices.len() as u64));
    let rounds = rounds(train_test.searched.len());
    let values = choices.par_iter().map(|choice| {
        let split = split_of(request, &calls, *choice);
        let replay = prepared.replay_rounds(&machine.machine, &split, rounds)?;
        progress.advance(1);
        Ok((objective.of(&replay), replay.hops))
    });
    let values: Vec<(u64, u64)> = values.collect::<Result<_, Error>>()?;
    progress.end();
    let Some((_, &choice)) = values.iter().zip(&choices).min_by_key(|(value, _)| **value) else {
        return Ok(None);
    };
    let split = split_of(request, &calls, choice);
    let (searched, held_out) = judge(trace, split, machine, (&prepared, &train_test))?;
    Ok(Some(Found {
        choice,
        request,
        tried: choices.len(),
        train_test,
        searched,
        held_out,
    }))
}

fn split_of(request: FunctionId, calls: &NumberedCalls, choice: Choice) -> Split {
    let Choice { function, call } = choice;
    let split = Split::new([(request, CoreId(0))]);
    split.at_calls_of(calls, &[(function, KthCall { core: 1, call }, Mode::Enter)])
}

/// The function that each request enters, if it can be hooked.
fn request_function(trace: &Trace) -> Option<FunctionId> {
    let request = request(trace)?;
    let is_it = |function: &corehop_traces::Function| {
        let module = &trace.modules()[function.module as usize];
        let place = (&request.build_id, request.offset);
        place == (&module.build_id, function.offset) && function.unpatchable.is_none()
    };
    let place = trace.functions().iter().position(is_it)?;
    Some(FunctionId(place as u32))
}
