//! Held-out evaluation: full replays, shared L3 included, of requests that the search did not use.
//!
//! The ranking omits the shared L3. So its best few splits are replayed in full on the searched
//! requests, and the best of these is selected. For throughput, it is the best one in a timed
//! replay ([`crate::finalists`]). If that is not the ranking's first, the L3 made the difference,
//! and the report notes it. The selected split is then replayed on the held-out requests and
//! compared with everything on one core.

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
    /// The cost in the ranking: a private-cache replay of each core
    /// ([`crate::objective::UnitCosts`]).
    pub ranked_cost: u64,
    /// The objective's value with all cores together, shared L3 included; with several machines, in
    /// units of 1 / [`crate::weights::ONE`] of one core's.
    pub in_full: u64,
    /// The result of its timed replay, if it is one of the finalists.
    pub timed: Option<Timed>,
}

/// Comparison of the selected split with everything on one core.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// On the searched requests, with cold caches at the start.
    pub searched: Comparison,
    /// On the held-out requests, after the warm-up requests; `None` if every request was searched.
    pub held_out: Option<Comparison>,
    /// Whether the best split by full replay differs from the ranking's first.
    pub shared_cache_changed_rank: bool,
    /// The fully replayed splits, in the order of the ranking.
    pub ranked: Vec<Ranked>,
    /// Indices of these, best first: the finalists by timed replay, then the others by full replay.
    /// So the first is the selected split, and the second is the runner-up.
    pub order: Vec<usize>,
    /// Outcome of the timed replays.
    pub finals: Finals,
    /// Comparison of the runner-up with one core, on the held-out requests; `None` if there are
    /// none, or no other split.
    pub runner_up_held_out: Option<Comparison>,
}

impl Evaluated {
    /// Returns the comparison on requests that were not searched, or the other if there are none.
    pub fn verdict(&self) -> &Comparison {
        self.held_out.as_ref().unwrap_or(&self.searched)
    }

    /// Returns the second-best split.
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
    /// The objective, with the factor of each machine.
    pub factors: &'a Factors<'a>,
    /// The division of the requests.
    pub train_test: &'a TrainTestSplit,
    /// The prepared searched requests, for splits at all functions.
    pub prepared: &'a Prepared,
    /// The timed replay, or why there is none.
    pub(crate) timed: Result<&'a TimedReplay<'a>, Finals>,
    /// Receives progress reports.
    pub progress: &'a dyn Progress,
}

impl HeldOutEvaluation<'_> {
    /// Selects the best of `ranked` (cost and functions, best first) by full replay, and evaluates
    /// it.
    ///
    /// # Errors
    /// Fails if the trace cannot be read or replayed.
    ///
    /// # Panics
    /// If `ranked` is empty: a search ends with at least one split.
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

    /// Compares the best split of each ranking with one core, on the held-out requests.
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

    /// Replays splits on the searched requests, and orders their indices by the objective; for
    /// throughput, the best few by timed replay.
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

    /// Runs timed replays of the first of the order, and sorts these by the result.
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
        // A stable sort: ties keep the order of the formulas.
        finalists.sort_by_key(|&index| ranked[index].timed.as_ref().map(|timed| timed.value));
        self.progress.end();
        Ok(finals)
    }

    /// Compares a split with one core, in one pass through the searched requests.
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

    /// Compares splits with one core, on the held-out requests after the warm-up requests.
    fn on_held_out_requests<'s>(
        &self,
        splits: impl Iterator<Item = &'s [(FunctionId, CoreId)]>,
    ) -> Result<Vec<Comparison>, Error> {
        let splits: Vec<Split> = splits.map(split_at).collect();
        let of = (self.trace, self.machines, self.train_test);
        compare_on(of, &splits, self.progress)
    }
}

/// Compares splits with one core, on the held-out requests of `train_test` after the warm-up
/// requests.
///
/// # Errors
/// Fails if the trace cannot be read or replayed.
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

/// Combines the comparisons of several machines: weight, everything on one core, and the split.
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
