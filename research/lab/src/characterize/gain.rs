//! What delegating a function does: an exact replay of the plan that delegates it and nothing else.
//!
//! One core is the home of all threads, and a second has the function: threads go there when they
//! enter it and come back when the call returns. Beside it stand two baselines, for two questions.
//! *One core* for everything says what dividing the working set is worth, as `corehop partition`
//! judges. The *same two cores with threads in turn* on them says what delegation is worth beside a
//! server's own threads on as many cores, which also take lines from each other; this is what
//! Curto's experiments compare. All replays are of requests held out, after others that warm up.

use crate::characterize::error::Error;
use crate::characterize::subject::Subject;
use corehop_partitioner::hop_cost::break_even_cycles;
use corehop_partitioner::progress::{self, Progress};
use corehop_simulator::{CoreId, Machine, Prepared, Replay, ReplayOptions, Split};
use corehop_traces::{FunctionId, ThreadId};
use rayon::prelude::*;

/// The core that all threads start on and come back to is 0.
const DELEGATED_TO: CoreId = CoreId(1);
/// As many cores as a delegation uses.
pub const CORES: u32 = 2;

/// The replays of some functions, each delegated alone, beside none delegated.
#[derive(Clone, Debug)]
pub struct Gains {
    /// Everything on one core.
    pub one_core: Replay,
    /// Threads in turn on two cores.
    pub in_turn: Replay,
    /// Each function's, in their order.
    pub delegated: Vec<Replay>,
}

/// Which baseline a delegation is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Everything on one core.
    OneCore,
    /// Threads in turn on two cores.
    InTurn,
}

impl Gains {
    /// The replay without delegation.
    pub fn baseline(&self, baseline: Baseline) -> &Replay {
        match baseline {
            Baseline::OneCore => &self.one_core,
            Baseline::InTurn => &self.in_turn,
        }
    }

    /// Share of the baseline's L2 misses that a delegation saves, negative where it adds some;
    /// `None` where there were none.
    pub fn misses_saved(&self, baseline: Baseline, place: usize) -> Option<f64> {
        let before = self.baseline(baseline).counters.l2.misses();
        let after = self.delegated[place].counters.l2.misses();
        (before > 0).then(|| 1.0 - after as f64 / before as f64)
    }

    /// Share of the baseline's cycles that a delegation saves, if its hops cost so many each.
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

    /// The hop cost at which a delegation neither wins nor loses beside one core.
    pub fn break_even_cycles(&self, place: usize, machine: &Machine) -> Option<f64> {
        let after = &self.delegated[place];
        let before = &self.one_core.counters;
        break_even_cycles(machine, before, &after.counters, after.hops)
    }
}

/// Threads in turn on two cores, in the order in which they begin to serve requests.
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

/// Replays each of these functions delegated, on what `options` name.
///
/// # Errors
/// What reading or replaying the trace says.
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
