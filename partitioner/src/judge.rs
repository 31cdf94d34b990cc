//! The verdict: full replays, shared L3 included, of requests the search did not use.
//!
//! The ranking leaves the shared L3 out. So its best few splits are replayed in full, on what the
//! search replayed, and the best of those is taken; when that is not the ranking's first, the L3
//! made the difference and the report says so. The one split taken is then replayed, beside
//! everything on one core, on the judging requests.

use crate::Error;
use crate::evaluate::ROUNDS;
use crate::progress::Progress;
use crate::requests::Parts;
use corehop_simulator::{Counters, Machine, Replay, ReplayOptions, Replayer, Split, replay};
use corehop_traces::Trace;
use rayon::prelude::*;

/// Everything on one core beside the split, on the same requests.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Number of requests counted.
    pub requests: u64,
    /// Everything on one core.
    pub baseline: Counters,
    /// With the split.
    pub split: Counters,
    /// Hops counted with the split.
    pub hops: u64,
}

impl Comparison {
    /// L2 misses with the split as a share of those on one core; `None` when there were none.
    pub fn l2_ratio(&self) -> Option<f64> {
        let before = self.baseline.l2.misses();
        (before > 0).then(|| self.split.l2.misses() as f64 / before as f64)
    }
}

/// How the split taken compares.
#[derive(Clone, Debug)]
pub struct Judged {
    /// On the requests it was searched on, cold caches at the start.
    pub searched: Comparison,
    /// On the judging requests, after the warm-up ones; `None` when every request was searched.
    pub held_out: Option<Comparison>,
    /// Whether the full replays put another split first than the ranking did.
    pub shared_cache_changed_rank: bool,
}

/// Takes the best of `ranked` (misses and functions, best first) by full replay and judges it.
///
/// # Errors
/// What reading or replaying the trace says.
///
/// # Panics
/// When `ranked` is empty: a search ends with at least one split.
pub fn judge(
    trace: &Trace,
    machine: &Machine,
    parts: &Parts,
    ranked: &[(u64, Vec<u32>)],
    progress: &dyn Progress,
) -> Result<(Vec<u32>, Judged), Error> {
    progress.begin(
        "replaying the best splits in full",
        Some(ranked.len() as u64 + 4),
    );
    let run = |functions: &[u32], requests: &[u32], warm_up: usize| {
        let split = split_at(functions);
        let options = ReplayOptions {
            requests: Some(requests.to_vec()),
            warm_up_requests: warm_up,
            ..ReplayOptions::default()
        };
        let replayed = replay(trace, machine, &split, &options);
        progress.advance(1);
        replayed
    };
    let side_by_side = |functions: &[u32], requests: &[u32], warm_up: usize| {
        let baseline = || run(&[], requests, warm_up);
        rayon::join(baseline, || run(functions, requests, warm_up))
    };
    let in_full = |(_, functions): &(u64, Vec<u32>)| {
        let misses = l2_misses_in_full(trace, machine, &parts.searched, functions);
        progress.advance(1);
        misses
    };
    let misses: Vec<u64> = ranked.par_iter().map(in_full).collect::<Result<_, _>>()?;
    let best = (0..misses.len()).min_by_key(|&index| misses[index]);
    let best = best.expect("a search ends with a split");
    let split = ranked[best].1.clone();
    let (baseline, with_split) = side_by_side(&split, &parts.searched, 0);
    let searched = compare(parts.searched.len(), baseline?, with_split?);
    let held_out = if parts.judging.is_empty() {
        None
    } else {
        let requests = [parts.warm_up.clone(), parts.judging.clone()].concat();
        let (baseline, with_split) = side_by_side(&split, &requests, parts.warm_up.len());
        Some(compare(parts.judging.len(), baseline?, with_split?))
    };
    progress.end();
    Ok((
        split,
        Judged {
            searched,
            held_out,
            shared_cache_changed_rank: best != 0,
        },
    ))
}

/// L2 misses of the rounds that the search ranks by, with the shared L3 in its place.
fn l2_misses_in_full(
    trace: &Trace,
    machine: &Machine,
    requests: &[u32],
    functions: &[u32],
) -> Result<u64, Error> {
    let split = split_at(functions);
    let mut replayer = Replayer::new(machine, &split)?;
    for _ in 0..ROUNDS {
        let mut executions = trace.executions_of(requests);
        while let Some(execution) = executions.next()? {
            replayer.execute(&execution);
        }
    }
    Ok(replayer.finish().counters.l2.misses())
}

/// The function at index `i` has core `i`.
fn split_at(functions: &[u32]) -> Split {
    Split::new(functions.iter().copied().zip(0..))
}

fn compare(requests: usize, baseline: Replay, split: Replay) -> Comparison {
    Comparison {
        requests: requests as u64,
        baseline: baseline.counters,
        split: split.counters,
        hops: split.hops,
    }
}
