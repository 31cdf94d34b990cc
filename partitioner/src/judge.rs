//! The verdict: full replays, shared L3 included, of requests the search did not use.
//!
//! The ranking leaves the shared L3 out. So its best few splits are replayed in full, on what the
//! search replayed, and the best of those is taken; when that is not the ranking's first, the L3
//! made the difference and the report says so. The one split taken is then replayed, beside
//! everything on one core, on the judging requests.

use crate::Error;
use crate::evaluate::ROUNDS;
use crate::hop_cost::break_even_cycles;
use crate::objective::Objective;
use crate::progress::Progress;
use crate::requests::Parts;
use corehop_simulator::{Counters, Machine, Prepared, Replay, Setting, Split, replay_all};
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

    /// See [`break_even_cycles`].
    pub fn break_even_cycles(&self, machine: &Machine) -> Option<f64> {
        break_even_cycles(machine, &self.baseline, &self.split, self.hops)
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
    /// The comparison to believe: on requests that were not searched, where there are any.
    pub fn verdict(&self) -> &Comparison {
        self.held_out.as_ref().unwrap_or(&self.searched)
    }

    /// The split that was second best.
    pub fn runner_up(&self) -> Option<&Ranked> {
        self.order.get(1).map(|&index| &self.ranked[index])
    }
}

/// Takes the best of `ranked` (misses and functions, best first) by full replay and judges it.
/// `prepared` has the searched requests, for splits at all these functions.
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
    prepared: &Prepared,
    ranked: Vec<(u64, Vec<u32>)>,
    objective: Objective,
    progress: &dyn Progress,
) -> Result<(Vec<u32>, Judged), Error> {
    progress.begin(
        "replaying the best splits in full",
        Some(ranked.len() as u64 + 5),
    );
    let in_full = |(alone_l2_misses, split): (u64, Vec<u32>)| {
        let replay = prepared.replay_rounds(machine, &split_at(&split), ROUNDS)?;
        progress.advance(1);
        Ok(Ranked {
            split,
            alone_l2_misses,
            in_full: objective.of(&replay.counters),
        })
    };
    let ranked = ranked.into_par_iter().map(in_full);
    let ranked: Vec<Ranked> = ranked.collect::<Result<_, Error>>()?;
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order.sort_by_key(|&index| (ranked[index].in_full, index));
    let split = ranked[order[0]].split.clone();
    let runner_up = order.get(1).map(|&index| &ranked[index].split[..]);
    let baseline = prepared.replay(machine, &split_at(&[]))?;
    let searched = compare(&baseline, &prepared.replay(machine, &split_at(&split))?);
    progress.advance(2);
    let (mut held_out, mut runner_up_held_out) = (None, None);
    if !parts.judging.is_empty() {
        let splits = [&split[..]].into_iter().chain(runner_up);
        let mut compared = on_judging_requests(trace, machine, parts, splits)?.into_iter();
        progress.advance(3);
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

/// Splits beside everything on one core, on the judging requests after the warm-up ones.
fn on_judging_requests<'s>(
    trace: &Trace,
    machine: &Machine,
    parts: &Parts,
    splits: impl Iterator<Item = &'s [u32]>,
) -> Result<Vec<Comparison>, Error> {
    let options = parts.judging_options();
    let splits: Vec<Split> = [&[][..]].into_iter().chain(splits).map(split_at).collect();
    let setting = |split| Setting { machine, split };
    let settings: Vec<Setting<'_>> = splits.iter().map(setting).collect();
    let replays = replay_all(trace, &settings, &options)?;
    let compared = replays[1..].iter().map(|split| compare(&replays[0], split));
    Ok(compared.collect())
}

/// The function at index `i` has core `i`.
fn split_at(functions: &[u32]) -> Split {
    Split::new(functions.iter().copied().zip(0..))
}

fn compare(baseline: &Replay, split: &Replay) -> Comparison {
    Comparison {
        requests: split.requests,
        baseline: baseline.counters,
        split: split.counters,
        hops: split.hops,
    }
}
