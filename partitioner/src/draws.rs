//! How much of a result is chance: the same search on other requests, and its plan on theirs.
//!
//! The requests searched are few and drawn at random. Other draws find other splits, and each is
//! judged on requests that it did not see; beside it the first draw's plan, which saw none of them
//! either. How far these verdicts lie apart is how far one of them can be trusted: a gain smaller
//! than that is no gain. What judges is drawn anew for each, as verdicts on the same requests would
//! agree however much requests differ. Those other searches need no proof, so unless a strategy was
//! asked for they are local ones, which mostly end where a proof would.

use crate::judge::compare_on;
use crate::objective::Objective;
use crate::progress::Progress;
use crate::requests::Parts;
use crate::strategy::Strategy;
use crate::weights::Weighted;
use crate::{Error, Judged, Outcome, Settings, partition};
use corehop_traces::Trace;

/// The verdict of one search.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Draw {
    /// What drew its requests.
    pub seed: u64,
    /// The objective's value on requests not searched, as a share of one core's; `None` when every
    /// request was searched, one core's is 0, or the search was stopped.
    pub ratio: Option<f64>,
    /// The same of the first draw's plan, on the same requests.
    pub plan_ratio: Option<f64>,
}

impl Draw {
    /// The verdict of the first search.
    pub fn of(seed: u64, judged: &Judged, objective: Objective) -> Draw {
        let held_out = judged.held_out.as_ref();
        let ratio = held_out.and_then(|held_out| held_out.ratio(objective));
        Draw {
            seed,
            ratio,
            plan_ratio: ratio,
        }
    }
}

/// Searches again with the `more` seeds that follow that of `settings`, and judges both what that
/// finds and the split of `first`. Where that search was stopped for want of time no other is made;
/// when someone wants this to end, there are fewer draws.
///
/// # Errors
/// As [`partition`].
pub fn more_draws(
    trace: &Trace,
    machines: &[Weighted],
    settings: &Settings<'_>,
    first: &Outcome,
    more: u32,
    progress: &dyn Progress,
) -> Result<Vec<Draw>, Error> {
    let seeds = (1..=u64::from(more)).map(|next| (settings.seed + next) % (i64::MAX as u64));
    let draw = |seed| {
        let settings = Settings {
            seed,
            strategy: settings.strategy.or(Some(Strategy::Local)),
            delegate: settings.delegate.silently(),
            judge: false,
            compare_fewer: false,
            ..*settings
        };
        let mut splits = vec![first.replayed()];
        if !first.ranking.stopped {
            let outcome = partition(trace, machines, &settings, progress)?;
            // The best so far of a search that was ended says nothing about requests.
            let whole = Some(outcome).filter(|outcome| !outcome.ranking.stopped);
            splits.extend(whole.map(|outcome| outcome.replayed()));
        }
        let parts = Parts::of(trace.requests(), settings.searched, seed)?;
        let parts = parts.apart_from(&first.parts, seed);
        let mut ratios = [None, None];
        if !parts.judging.is_empty() {
            progress.begin("judging another draw", None);
            let judged = compare_on(trace, machines, &parts, &splits)?;
            progress.end();
            for (ratio, judged) in ratios.iter_mut().zip(&judged) {
                *ratio = judged.ratio(settings.objective);
            }
        }
        let [plan_ratio, ratio] = ratios;
        Ok(Draw {
            seed,
            ratio,
            plan_ratio,
        })
    };
    seeds
        .take_while(|_| !progress.is_stopped())
        .map(draw)
        .collect()
}

/// What several draws say together.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Verdicts {
    /// The mean ratio of the plan.
    pub mean: f64,
    /// The smallest ratio, of the plan or of another draw's split.
    pub least: f64,
    /// The largest ratio of these.
    pub most: f64,
}

impl Verdicts {
    /// Of all draws that have a ratio; `None` when none has one of the plan.
    pub fn of(draws: &[Draw]) -> Option<Verdicts> {
        let of_plan: Vec<f64> = draws.iter().filter_map(|draw| draw.plan_ratio).collect();
        let others = draws.iter().filter_map(|draw| draw.ratio);
        let ratios: Vec<f64> = of_plan.iter().copied().chain(others).collect();
        (!of_plan.is_empty()).then(|| Verdicts {
            mean: of_plan.iter().sum::<f64>() / of_plan.len() as f64,
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Whether splitting pays: the plan's mean gain is larger than the ratios lie apart. One draw
    /// pays when it gains anything.
    pub fn pays(&self) -> bool {
        1.0 - self.mean > self.most - self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws as a search and the plan judged on its requests have it.
    fn draws(ratios: &[(f64, f64)]) -> Vec<Draw> {
        let draw = |(seed, &(ratio, plan_ratio)): (u64, &(f64, f64))| Draw {
            seed,
            ratio: Some(ratio),
            plan_ratio: Some(plan_ratio),
        };
        (0..).zip(ratios).map(draw).collect()
    }

    fn pays(ratios: &[(f64, f64)]) -> bool {
        Verdicts::of(&draws(ratios)).unwrap().pays()
    }

    #[test]
    fn a_gain_larger_than_the_draws_lie_apart_pays() {
        assert!(pays(&[(0.5, 0.5), (0.625, 0.625), (0.75, 0.75)]));
        assert!(pays(&[(0.99, 0.99)]));
    }

    #[test]
    fn a_gain_within_the_noise_does_not_pay_nor_does_a_loss() {
        assert!(!pays(&[(0.75, 0.75), (1.0, 1.0), (1.25, 1.25)]));
        assert!(!pays(&[(1.0, 1.0)]));
        assert!(!pays(&[(1.25, 1.25), (1.25, 1.25)]));
    }

    #[test]
    fn the_gain_is_the_plans_and_the_noise_that_of_all_splits() {
        // Other requests choose splits that gain half, and on these the plan gains nothing.
        let verdicts = Verdicts::of(&draws(&[(0.5, 0.5), (0.5, 1.0), (0.5, 1.0)])).unwrap();
        assert_eq!(verdicts.mean, 2.5 / 3.0);
        assert_eq!((verdicts.least, verdicts.most), (0.5, 1.0));
        assert!(!verdicts.pays());
        // The plan gains as much everywhere, but chance decides what a search finds.
        assert!(!pays(&[(0.875, 0.875), (1.125, 0.875)]));
    }

    #[test]
    fn draws_without_a_ratio_say_nothing() {
        let draw = |plan_ratio| Draw {
            seed: 1,
            ratio: None,
            plan_ratio,
        };
        assert_eq!(Verdicts::of(&[draw(None)]), None);
        assert_eq!(Verdicts::of(&[]), None);
        let verdicts = Verdicts::of(&[draw(None), draw(Some(0.5))]).unwrap();
        assert_eq!(
            (verdicts.least, verdicts.mean, verdicts.most),
            (0.5, 0.5, 0.5)
        );
    }
}
