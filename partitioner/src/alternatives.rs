//! What a plan's neighbours would do: the plan without one of its functions, or with another in its
//! place.
//!
//! The search says which split is best, not why. What is lost without a function is what its hop is
//! worth; what the best exchange for it would do says how much its place matters. Every neighbour
//! is replayed in full, shared L3 and all, on the same requests as the plan.

use crate::Error;
use crate::progress::Progress;
use corehop_simulator::{Machine, Prepared, Replay, ReplayOptions, Split};
use corehop_traces::Trace;

/// Functions as the trace numbers them, each with its core.
pub type Placed = Vec<(u32, u32)>;

/// What is known of one planned function.
#[derive(Clone, Debug)]
pub struct Alternatives {
    /// The planned function.
    pub function: u32,
    /// The plan without it.
    pub without: Replay,
    /// The plan with the best of the other candidates on its core instead; `None` when there are
    /// no others.
    pub exchanged: Option<(u32, Replay)>,
}

/// Replays the neighbours of `plan` on what `options` name; the best has the fewest L2 misses, and
/// of equals the lowest function. One entry for each planned function, in the plan's order.
///
/// # Errors
/// What reading or replaying the trace says.
pub fn alternatives(
    trace: &Trace,
    machine: &Machine,
    plan: &Placed,
    candidates: &[u32],
    options: &ReplayOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Alternatives>, Error> {
    let planned = |candidate: &u32| plan.iter().any(|(function, _)| function == candidate);
    let others: Vec<u32> = candidates.iter().copied().filter(|c| !planned(c)).collect();
    let mut functions = others.clone();
    functions.extend(plan.iter().map(|&(function, _)| function));
    let prepared = Prepared::new(trace, &[machine], &functions, options)?;
    let neighbours = plan.len() * (others.len() + 1);
    progress.begin("replaying the plan's neighbours", Some(neighbours as u64));
    let replayed = |place: usize, taken: Option<u32>| {
        let mut placed = plan.clone();
        match taken {
            Some(taken) => placed[place].0 = taken,
            None => drop(placed.remove(place)),
        }
        progress.advance(1);
        prepared.replay(machine, &Split::new(placed))
    };
    let of_function = |(place, &(function, _)): (usize, &(u32, u32))| {
        let mut exchanged: Option<(u32, Replay)> = None;
        for &other in &others {
            let replay = replayed(place, Some(other))?;
            let misses =
                |(function, replay): &(u32, Replay)| (replay.counters.l2.misses(), *function);
            let found = (other, replay);
            if exchanged
                .as_ref()
                .is_none_or(|best| misses(&found) < misses(best))
            {
                exchanged = Some(found);
            }
        }
        Ok(Alternatives {
            function,
            without: replayed(place, None)?,
            exchanged,
        })
    };
    let found = plan.iter().enumerate().map(of_function).collect();
    progress.end();
    found
}
