//! The effect of delegating a function: an exact replay of the plan that delegates only this
//! function.
//!
//! All threads run on one core, and the function on a second: threads move there when they enter it
//! and return when the call ends. The result is compared with two baselines. *One core* for
//! everything measures the value of dividing the working set, as `corehop partition` does. *Threads
//! in turn* on the same two cores measures the value of delegation compared with a server's own
//! threads on as many cores. These also invalidate lines of each other. Curto's experiments use
//! this comparison. All replays count held-out requests, after others for the warm-up.

use crate::characterize::error::Error;
use crate::characterize::subject::Subject;
use corehop_partitioner::hop_cost::break_even_cycles;
use corehop_partitioner::progress::{self, Progress};
use corehop_simulator::{CoreId, Machine, Prepared, Replay, ReplayOptions, Split};
use corehop_traces::{FunctionId, ThreadId};
use rayon::prelude::*;

/// The core of delegated calls; all threads start on core 0 and return to it.
const DELEGATED_TO: CoreId = CoreId(1);
/// Number of cores that a delegation uses.
pub const CORES: u32 = 2;

/// The replays of some functions, each delegated alone, and the baselines.
#[derive(Clone, Debug)]
pub struct Gains {
    /// Everything on one core.
    pub one_core: Replay,
    /// Threads placed round-robin on two cores.
    pub in_turn: Replay,
    /// The replay of each function, in their order.
    pub delegated: Vec<Replay>,
}

/// The baseline of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Everything on one core.
    OneCore,
    /// Threads placed round-robin on two cores.
    InTurn,
}

impl Gains {
    /// Returns the replay without delegation.
    pub fn baseline(&self, baseline: Baseline) -> &Replay {
        match baseline {
            Baseline::OneCore => &self.one_core,
            Baseline::InTurn => &self.in_turn,
        }
    }

    /// Returns the share of the baseline's L2 misses that a delegation saves, negative if it adds
    /// some; `None` if there were none.
    pub fn misses_saved(&self, baseline: Baseline, place: usize) -> Option<f64> {
        let before = self.baseline(baseline).counters.l2.misses();
        let after = self.delegated[place].counters.l2.misses();
        (before > 0).then(|| 1.0 - after as f64 / before as f64)
    }

    /// Returns the share of the baseline's cycles that a delegation saves if each hop costs
    /// `hop_cycles`.
    pub fn cycles_saved(
        &self,
        (baseline, place): (Baseline, usize),
        machine: &Machine,
        hop_cycles: u32,
    ) -> Option<f64> {
        let before = self.baseline(baseline).counters.cycles;
        let after = &self.delegated[place];
        let paid = after.hops * u64::from(machine.hop_cost_cycles);
        let after = after.counters.cycles - paid + after.hops * u64::from(hop_cycles);
        (before > 0).then(|| 1.0 - after as f64 / before as f64)
    }

    /// Returns the hop cost at which a delegation equals one core.
    pub fn break_even_cycles(&self, place: usize, machine: &Machine) -> Option<f64> {
        let after = &self.delegated[place];
        let before = &self.one_core.counters;
        break_even_cycles(machine, before, &after.counters, after.hops)
    }
}

/// Places threads round-robin on two cores, in the order in which they begin to serve requests.
pub fn in_turn(subject: &Subject<'_>, options: &ReplayOptions<'_>) -> Split {
    let mut threads: Vec<ThreadId> = Vec::new();
    for request in options.requests.iter().flatten() {
        let thread = subject.trace.requests()[request.index()].thread;
        if !threads.contains(&thread) {
            threads.push(thread);
        }
    }
    Split::threads_in_turn(&threads, CORES)
}

/// Replays each of these functions delegated, on the requests that `options` select.
///
/// # Errors
/// Errors of reading or replaying the trace.
pub fn gains(
    subject: &Subject<'_>,
    functions: &[FunctionId],
    machine: &Machine,
    options: &ReplayOptions<'_>,
    progress: &dyn Progress,
) -> Result<Gains, Error> {
    let stage = ("code blocks of held-out requests prepared", progress);
    let prepared = progress::replaying(stage, (subject.trace, options), |options| {
        Prepared::with_calls(subject.trace, &[machine], functions, options)
    })?;
    progress.begin("delegations replayed", Some(functions.len() as u64));
    let delegated = functions.par_iter().map(|&function| {
        let split = Split::new([(function, DELEGATED_TO)]).delegating([function]);
        let replay = prepared.replay(machine, &split);
        progress.advance(1);
        replay
    });
    let delegated = delegated.collect::<Result<_, _>>()?;
    progress.end();
    Ok(Gains {
        one_core: prepared.replay(machine, &Split::default())?,
        in_turn: prepared.replay(machine, &in_turn(subject, options))?,
        delegated,
    })
}
