//! The verdict: full replays, shared L3 included, of requests the search did not use.
//!
//! The ranking leaves the shared L3 out. So its best few splits are replayed in full, on what the
//! search replayed, and the best of those is taken; when that is not the ranking's first, the L3
//! made the difference and the report says so. The one split taken is then replayed, beside
//! everything on one core, on the judging requests.

use crate::Error;
use crate::evaluate::ROUNDS;
use crate::objective::Objective;
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
    /// The objective's value with the split as a share of that on one core; `None` when that is 0.
    pub fn ratio(&self, objective: Objective) -> Option<f64> {
        let before = objective.of(&self.baseline);
        (before > 0).then(|| objective.of(&self.split) as f64 / before as f64)
    }
}

/// One of the best splits of the ranking, replayed in full.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Its functions; the one at index `i` has core `i`.
    pub split: Vec<u32>,
    /// What it was ranked by: L2 misses of the cores, each alone.
    pub alone_l2_misses: u64,
    /// The objective's value with all cores together, shared L3 included.
    pub in_full: u64,
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
    /// The splits that were replayed in full, in the order of the ranking.
    pub ranked: Vec<Ranked>,
    /// Indices of these by their value in full: the split taken, the runner-up, and so on.
    pub order: Vec<usize>,
    /// The runner-up beside one core, on the judging requests; `None` where there are none, or no
    /// other split.
    pub runner_up_held_out: Option<Comparison>,
}

impl Judged {
    /// The split that was second best.
    pub fn runner_up(&self) -> Option<&Ranked> {
        self.order.get(1).map(|&index| &self.ranked[index])
    }
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
    ranked: Vec<(u64, Vec<u32>)>,
    objective: Objective,
    progress: &dyn Progress,
) -> Result<(Vec<u32>, Judged), Error> {
    progress.begin(
        "replaying the best splits in full",
        Some(ranked.len() as u64 + 5),
    );
    let in_full = |(alone_l2_misses, split): (u64, Vec<u32>)| {
        let counters = replayed_in_full(trace, machine, &parts.searched, &split)?;
        progress.advance(1);
        Ok(Ranked {
            split,
            alone_l2_misses,
            in_full: objective.of(&counters),
        })
    };
    let ranked = ranked.into_par_iter().map(in_full);
    let ranked: Vec<Ranked> = ranked.collect::<Result<_, Error>>()?;
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order.sort_by_key(|&index| (ranked[index].in_full, index));
    let split = ranked[order[0]].split.clone();
    let runner_up = order.get(1).map(|&index| &ranked[index].split[..]);
    let beside_one_core = |splits: &[&[u32]], requests: &[u32], warm_up: usize| {
        let options = ReplayOptions {
            requests: Some(requests.to_vec()),
            warm_up_requests: warm_up,
            ..ReplayOptions::default()
        };
        let run = |functions: &&[u32]| {
            let replayed = replay(trace, machine, &split_at(functions), &options);
            progress.advance(1);
            replayed
        };
        let replays = [&[][..]].into_par_iter().chain(splits.par_iter().copied());
        let replays: Vec<Replay> = replays.map(|of| run(&of)).collect::<Result<_, _>>()?;
        let counted = requests.len() - warm_up;
        let compared = replays[1..].iter();
        let compared = compared.map(|split| compare(counted, &replays[0], split));
        Ok::<Vec<Comparison>, Error>(compared.collect())
    };
    let searched = beside_one_core(&[&split], &parts.searched, 0)?.remove(0);
    let (mut held_out, mut runner_up_held_out) = (None, None);
    if !parts.judging.is_empty() {
        let requests = [parts.warm_up.clone(), parts.judging.clone()].concat();
        let splits: Vec<&[u32]> = [&split[..]].into_iter().chain(runner_up).collect();
        let mut compared = beside_one_core(&splits, &requests, parts.warm_up.len())?.into_iter();
        held_out = compared.next();
        runner_up_held_out = compared.next();
    }
    progress.end();
    let judged = Judged {
        searched,
        held_out,
        shared_cache_changed_rank: objective == Objective::L2 && order[0] != 0,
        ranked,
        order,
        runner_up_held_out,
    };
    Ok((split, judged))
}

/// What the rounds that the search ranks by count with the shared L3 in its place.
fn replayed_in_full(
    trace: &Trace,
    machine: &Machine,
    requests: &[u32],
    functions: &[u32],
) -> Result<Counters, Error> {
    let split = split_at(functions);
    let mut replayer = Replayer::new(machine, &split)?;
    for _ in 0..ROUNDS {
        let mut executions = trace.executions_of(requests);
        while let Some(execution) = executions.next()? {
            replayer.execute(&execution);
        }
    }
    Ok(replayer.finish().counters)
}

/// The function at index `i` has core `i`.
fn split_at(functions: &[u32]) -> Split {
    Split::new(functions.iter().copied().zip(0..))
}

fn compare(requests: usize, baseline: &Replay, split: &Replay) -> Comparison {
    Comparison {
        requests: requests as u64,
        baseline: baseline.counters,
        split: split.counters,
        hops: split.hops,
    }
}
