//! Held-out evaluation: full replays, shared L3 included, of requests that the search did not use.
//!
//! The ranking leaves the shared L3 out. So its best few splits are replayed in full on the
//! searched requests, and the best of those is taken; where throughput counts, the one of the best
//! few that a timed replay puts first ([`crate::finalists`]). When that is not the ranking's first,
//! the L3 made the difference, and the report says so. The split that is taken is then replayed on
//! the held-out requests, beside everything on one core.

use crate::Error;
use crate::comparison::compare;
use crate::evaluate::Placement;
use crate::fewer::{Fewer, named};
use crate::finalists::{Finals, MOST_FINALISTS, Timed, TimedReplay};
use crate::objective::Objective;
use crate::progress::{self, Progress};
use crate::requests::TrainTestSplit;
use crate::strategy::Ranking;
use crate::weights::{Factors, Weighted};
use corehop_simulator::{CoreId, Prepared, Replay, Setting, Split, replay_all};
use corehop_traces::{FunctionId, Trace};
use rayon::prelude::*;

pub use crate::comparison::Comparison;

/// One of the best splits of the ranking, replayed in full.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Its functions, each with its core.
    pub split: Placement,
    /// What it was ranked by: a private-cache replay of each core
    /// ([`crate::objective::UnitCosts`]).
    pub ranked_cost: u64,
    /// The objective's value with all cores together, shared L3 included; in units of
    /// 1 / [`crate::weights::ONE`] of one core's, where several machines are weighed.
    pub in_full: u64,
    /// What a timed replay says of it, if it is one of the finalists.
    pub timed: Option<Timed>,
}

/// How the split that was taken compares with everything on one core.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// On the requests it was searched on, cold caches at the start.
    pub searched: Comparison,
    /// On the held-out requests, after the warm-up ones; `None` when every request was searched.
    pub held_out: Option<Comparison>,
    /// Whether the full replays put another split first than the ranking did.
    pub shared_cache_changed_rank: bool,
    /// The splits that were replayed in full, in the order of the ranking.
    pub ranked: Vec<Ranked>,
    /// Indices of these: the finalists by their timed replays, then the others by their value in
    /// full. So the split taken, the runner-up, and so on.
    pub order: Vec<usize>,
    /// What was made of clocks.
    pub finals: Finals,
    /// The runner-up beside one core, on the held-out requests; `None` where there are none, or no
    /// other split.
    pub runner_up_held_out: Option<Comparison>,
}

impl Evaluated {
    /// The comparison to believe: on requests that were not searched, where there are any.
    pub fn verdict(&self) -> &Comparison {
        self.held_out.as_ref().unwrap_or(&self.searched)
    }

    /// The split that was second best.
    pub fn runner_up(&self) -> Option<&Ranked> {
        self.order.get(1).map(|&index| &self.ranked[index])
    }
}

/// Evaluates splits on held-out requests.
pub struct HeldOutEvaluation<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The machines.
    pub machines: &'a [Weighted],
    /// What is to be small on them.
    pub factors: &'a Factors<'a>,
    /// Its requests.
    pub train_test: &'a TrainTestSplit,
    /// The searched ones, for splits at all functions.
    pub prepared: &'a Prepared,
    /// What finalists are replayed with, or why they are not.
    pub(crate) timed: Result<&'a TimedReplay<'a>, Finals>,
    /// Is told how far it is.
    pub progress: &'a dyn Progress,
}

impl HeldOutEvaluation<'_> {
    /// Takes the best of `ranked` (misses and functions, best first) by full replay and evaluates
    /// it.
    ///
    /// # Errors
    /// What reading or replaying the trace says.
    ///
    /// # Panics
    /// When `ranked` is empty: a search ends with at least one split.
    pub fn evaluate(&self, ranked: Vec<(u64, Placement)>) -> Result<(Placement, Evaluated), Error> {
        let (ranked, order, finals) = self.in_full(ranked)?;
        let split = ranked[order[0]].split.clone();
        let runner_up = order.get(1).map(|&index| &ranked[index].split[..]);
        let searched = self.on_searched_requests(&split)?;
        let (mut held_out, mut runner_up_held_out) = (None, None);
        if !self.train_test.held_out.is_empty() {
            let splits = [&split[..]].into_iter().chain(runner_up);
            let mut compared = self.on_held_out_requests(splits)?.into_iter();
            held_out = compared.next();
            runner_up_held_out = compared.next();
        }
        let evaluated = Evaluated {
            searched,
            held_out,
            shared_cache_changed_rank: self.factors.objective == Objective::L2 && order[0] != 0,
            ranked,
            order,
            finals,
            runner_up_held_out,
        };
        Ok((split, evaluated))
    }

    /// The best of each ranking beside one core, on the held-out requests.
    ///
    /// # Errors
    /// As [`HeldOutEvaluation::evaluate`].
    pub(crate) fn evaluate_fewer(
        &self,
        rankings: Vec<(u32, Ranking)>,
        functions: &[FunctionId],
    ) -> Result<Vec<Fewer>, Error> {
        let best = |(_, ranking): &(u32, Ranking)| -> Result<Placement, Error> {
            let (mut ranked, order, _) = self.in_full(named(&ranking.best, functions))?;
            Ok(ranked.swap_remove(order[0]).split)
        };
        let splits: Vec<Placement> = rankings.iter().map(best).collect::<Result<_, _>>()?;
        let evaluated = match splits.is_empty() {
            true => Vec::new(),
            false => self.on_held_out_requests(splits.iter().map(|split| &split[..]))?,
        };
        let fewer = rankings.into_iter().zip(splits).zip(evaluated);
        let fewer = fewer.map(|(((cores, _), split), held_out)| Fewer {
            cores,
            split,
            held_out,
        });
        Ok(fewer.collect())
    }

    /// Replays splits on the searched requests, and orders their indices by the objective; the best
    /// few with clocks, where that counts.
    fn in_full(
        &self,
        ranked: Vec<(u64, Placement)>,
    ) -> Result<(Vec<Ranked>, Vec<usize>, Finals), Error> {
        let stage = "best splits replayed in full";
        self.progress.begin(stage, Some(ranked.len() as u64));
        let rounds = self.train_test.rounds();
        let in_full = |(ranked_cost, split): (u64, Placement)| {
            let value = self
                .factors
                .replayed(self.prepared, &split_at(&split), rounds)?;
            self.progress.advance(1);
            Ok(Ranked {
                split,
                ranked_cost,
                in_full: value,
                timed: None,
            })
        };
        let ranked = ranked.into_par_iter().map(in_full);
        let mut ranked: Vec<Ranked> = ranked.collect::<Result<_, Error>>()?;
        let mut order: Vec<usize> = (0..ranked.len()).collect();
        order.sort_by_key(|&index| (ranked[index].in_full, index));
        self.progress.end();
        let finals = match self.timed {
            Ok(replay) => self.with_clocks(replay, &mut ranked, &mut order)?,
            Err(ref finals) => finals.clone(),
        };
        Ok((ranked, order, finals))
    }

    /// Replays the first of the order with clocks, and puts those in the order of that.
    fn with_clocks(
        &self,
        replay: &TimedReplay<'_>,
        ranked: &mut [Ranked],
        order: &mut [usize],
    ) -> Result<Finals, Error> {
        let finalists = order.len().min(MOST_FINALISTS);
        let finalists = &mut order[..finalists];
        let stage = "finalists replayed with clocks";
        self.progress.begin(stage, Some(finalists.len() as u64));
        let finals = replay.finals(split_at(&ranked[finalists[0]].split).cores())?;
        let timed = finalists.par_iter().map(|&index| {
            let timed = replay.of(&split_at(&ranked[index].split), &finals)?;
            self.progress.advance(1);
            Ok(timed)
        });
        let timed: Vec<Timed> = timed.collect::<Result<_, Error>>()?;
        for (&index, timed) in finalists.iter().zip(timed) {
            ranked[index].timed = Some(timed);
        }
        // A stable sort: of equals the one that is better by formulas comes first.
        finalists.sort_by_key(|&index| ranked[index].timed.as_ref().map(|timed| timed.value));
        self.progress.end();
        Ok(finals)
    }

    /// A split beside everything on one core, once through the searched requests.
    fn on_searched_requests(&self, split: &[(FunctionId, CoreId)]) -> Result<Comparison, Error> {
        let of_machine = |of: &Weighted| {
            let replay = |split: &[(FunctionId, CoreId)]| {
                self.prepared.replay(&of.machine, &split_at(split))
            };
            Ok((of.weight, replay(&[])?, replay(split)?))
        };
        let replays = self.machines.iter().map(of_machine);
        let replays: Vec<_> = replays.collect::<Result<_, Error>>()?;
        let replays = replays
            .iter()
            .map(|(weight, one, split)| (*weight, one, split));
        Ok(together(replays))
    }

    /// Splits beside everything on one core, on the held-out requests after the warm-up ones.
    fn on_held_out_requests<'s>(
        &self,
        splits: impl Iterator<Item = &'s [(FunctionId, CoreId)]>,
    ) -> Result<Vec<Comparison>, Error> {
        let splits: Vec<Split> = splits.map(split_at).collect();
        let of = (self.trace, self.machines, self.train_test);
        compare_on(of, &splits, self.progress)
    }
}

/// Splits beside everything on one core, on the held-out requests of `train_test` after the warm-up
/// ones.
///
/// # Errors
/// What reading or replaying the trace says.
pub(crate) fn compare_on(
    (trace, machines, train_test): (&Trace, &[Weighted], &TrainTestSplit),
    splits: &[Split],
    progress: &dyn Progress,
) -> Result<Vec<Comparison>, Error> {
    let one_core = Split::default();
    let settings = machines.iter().flat_map(|of| {
        let machine = &of.machine;
        let splits = [&one_core].into_iter().chain(splits);
        splits.map(move |split| Setting { machine, split })
    });
    let settings: Vec<Setting<'_>> = settings.collect();
    let options = train_test.held_out_options();
    let stage = ("code blocks of held-out requests replayed", progress);
    let replays = progress::replaying(stage, (trace, &options), |options| {
        replay_all(trace, &settings, options)
    })?;
    let of_split = |split: usize| {
        let of_machines = machines.iter().zip(replays.chunks(splits.len() + 1));
        together(of_machines.map(|(of, replays)| (of.weight, &replays[0], &replays[split])))
    };
    Ok((1..=splits.len()).map(of_split).collect())
}

fn split_at(placed: &[(FunctionId, CoreId)]) -> Split {
    Split::new(placed.iter().copied())
}

/// One comparison of those of several machines: weight, everything on one core, and the split.
pub(crate) fn together<'r>(
    of_machines: impl Iterator<Item = (f64, &'r Replay, &'r Replay)>,
) -> Comparison {
    let compared = of_machines.map(|(weight, one, split)| Comparison {
        weight,
        ..compare(one.counters, split)
    });
    let mut others: Vec<Comparison> = compared.collect();
    let first = others.remove(0);
    Comparison { others, ..first }
}
