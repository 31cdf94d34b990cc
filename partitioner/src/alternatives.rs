//! Replays the neighbours of a plan: the plan without one of its functions, with one function
//! exchanged for another, and with one function's mode changed (`call` or `enter`).
//!
//! The search reports which split is best, but not why. The misses added by leaving a function out
//! are the value of its hop. The misses added by the best exchange show how much its position
//! matters. Every neighbour is replayed in full, shared L3 included, on the same requests as the
//! plan.

use crate::Error;
use crate::progress::Progress;
use corehop_simulator::{CoreId, Machine, Prepared, Replay, ReplayOptions, Split};
use corehop_traces::{FunctionId, Trace};

/// A planned function, with its number in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFunction {
    /// The function.
    pub function: FunctionId,
    /// The core that its entry moves a thread to.
    pub core: CoreId,
    /// Whether its calls are delegated: the thread returns to the caller's core when the call ends.
    pub delegated: bool,
}

/// The alternatives to one planned function.
#[derive(Clone, Debug)]
pub struct Alternatives {
    /// The planned function.
    pub function: FunctionId,
    /// The plan without it.
    pub without: Replay,
    /// The plan with the function's mode changed: delegated if it was not, and the reverse.
    pub other_mode: Replay,
    /// The plan with the best other candidate on its core instead; `None` if there are no others.
    pub exchanged: Option<(FunctionId, Replay)>,
}

/// Replays the neighbours of `plan` on the requests of `options`. The best exchange has the fewest
/// L2 misses; ties go to the lowest function. Returns one entry for each planned function, in the
/// plan's order.
///
/// # Errors
/// Fails if the trace cannot be read or replayed.
pub fn alternatives(
    trace: &Trace,
    machine: &Machine,
    plan: &[PlannedFunction],
    candidates: &[FunctionId],
    options: &ReplayOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Alternatives>, Error> {
    let planned = |candidate: &FunctionId| plan.iter().any(|placed| placed.function == *candidate);
    let others: Vec<FunctionId> = candidates.iter().copied().filter(|c| !planned(c)).collect();
    let mut functions = others.clone();
    functions.extend(plan.iter().map(|placed| placed.function));
    let prepared = Prepared::with_calls(trace, &[machine], &functions, options)?;
    let neighbours = plan.len() * (others.len() + 2);
    progress.begin("neighbors of the plan replayed", Some(neighbours as u64));
    let replayed = |change: &dyn Fn(&mut Vec<PlannedFunction>)| {
        let mut placed = plan.to_vec();
        change(&mut placed);
        progress.advance(1);
        let delegated = placed.iter().filter(|placed| placed.delegated);
        let delegated = delegated.map(|placed| placed.function);
        let split = placed.iter();
        let split = split.map(|placed| (placed.function, placed.core));
        let split = Split::new(split);
        prepared.replay(machine, &split.delegating(delegated))
    };
    let of_function = |place: usize| {
        let mut exchanged: Option<(FunctionId, Replay)> = None;
        for &other in &others {
            let replay = replayed(&|placed| placed[place].function = other)?;
            let misses = |(function, replay): &(FunctionId, Replay)| {
                (replay.counters.l2.misses(), *function)
            };
            let found = (other, replay);
            if exchanged
                .as_ref()
                .is_none_or(|best| misses(&found) < misses(best))
            {
                exchanged = Some(found);
            }
        }
        Ok(Alternatives {
            function: plan[place].function,
            without: replayed(&|placed| {
                placed.remove(place);
            })?,
            other_mode: replayed(&|placed| placed[place].delegated ^= true)?,
            exchanged,
        })
    };
    let found = (0..plan.len()).map(of_function).collect();
    progress.end();
    found
}
