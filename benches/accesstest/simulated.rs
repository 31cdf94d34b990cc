//! Accesstest on a simulated machine: sessions of two phases, in place or with one core per phase.
//!
//! A session walks once around the path of the first half of the working set, then around that of
//! the second, repeatedly. All sessions share both paths, so one request of the trace represents
//! all of them. In place, a session stays on one of two cores (`pinned`); delegated, each phase has
//! a core (`split`). A hop costs as much as with the carrier backend, and a yield in place costs
//! nothing.

use crate::synthetic::{LINE_BYTES, Phase, Step, record, setting, simulate, streams, zipf};
use corehop_simulator::timing::{Error, Outcome};
use corehop_simulator::{CoreId, Machine, Split};
use corehop_traces::FunctionId;

pub const PHASES: [&str; 2] = ["first_phase", "second_phase"];
pub const CORES: u32 = 2;
/// As in the thesis.
pub const SESSIONS: usize = 100;
const BUFFER: u64 = 1 << 30;
/// Steps simulated before counting and while counting, but at least a few turns of a session.
const STEPS: u64 = 1 << 19;
/// Minimum and maximum turns of sessions.
const TURNS: (u64, u64) = (8, 400);

/// Parameters of the experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Size of both phases together.
    pub working_set_kib: u64,
    /// Share of accesses that write.
    pub updates_percent: f64,
}

/// Results of one way to run, per access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub touches_per_kcycle: f64,
    pub l1d_misses: f64,
    pub l2_misses: f64,
    pub l3_misses: f64,
    /// L2 misses of lines that the other core has written.
    pub coherence_misses: f64,
}

/// Returns the phases' paths, adjacent in one buffer, so that they fill all sets evenly.
pub fn paths(point: Point) -> [Vec<Step>; 2] {
    let lines = point.working_set_kib * 1024 / LINE_BYTES / 2;
    let path = |phase: u64| {
        let base = BUFFER + phase * lines * LINE_BYTES;
        zipf(base, lines, point.updates_percent / 100.0, phase + 1)
    };
    [path(0), path(1)]
}

/// Returns a split with one core per phase.
pub fn split() -> Split {
    Split::new([0, 1].map(|index| (FunctionId(index), CoreId(index))))
}

/// Simulates in place and delegated.
pub fn rates(machine: &Machine, point: Point) -> Result<[Rates; 2], Error> {
    let paths = paths(point);
    let touches = paths.iter().map(Vec::len).sum::<usize>() as u64;
    let turns = (STEPS / touches).clamp(TURNS.0, TURNS.1);
    let outcome = |scheduler| outcome(machine, &paths, scheduler, SESSIONS, turns);
    let rates = |outcome: &Outcome| {
        let touches = (outcome.requests * touches) as f64;
        let counters = outcome.counters();
        Rates {
            touches_per_kcycle: touches * 1e3 / outcome.elapsed_cycles.max(1) as f64,
            l1d_misses: counters.l1d.data_misses() as f64 / touches,
            l2_misses: counters.l2.data_misses() as f64 / touches,
            l3_misses: counters.l3.data_misses() as f64 / touches,
            coherence_misses: counters.l2.coherence_misses() as f64 / touches,
        }
    };
    Ok([rates(&outcome("pinned")?), rates(&outcome("split")?)])
}

/// Simulates this many turns of sessions, after as many that warm the caches.
pub fn outcome(
    machine: &Machine,
    paths: &[Vec<Step>; 2],
    scheduler: &str,
    sessions: usize,
    turns: u64,
) -> Result<Outcome, Error> {
    let mut machine = machine.clone();
    machine.set_hop_cost(machine.carried_hop_cycles());
    let phase = |function: usize| Phase {
        function,
        steps: &paths[function],
        is_chained: true,
    };
    let trace = record(&PHASES, &[vec![phase(0), phase(1)]])?;
    let split = split();
    let streams = streams(&trace, &split)?;
    let on = (scheduler, CORES);
    simulate(
        &streams,
        &setting(&machine, &split, on, sessions, (turns, turns)),
    )
}
