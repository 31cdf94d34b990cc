//! Resampling: measures how much of a result is chance, by repeating the search on other random
//! requests.
//!
//! The search uses few requests, sampled at random. So it is repeated on other samples, and each
//! split found is evaluated on requests that its search did not use. The first sample's plan is
//! evaluated on the same requests; its search did not use them either. The spread of these verdicts
//! shows how reliable one of them is: a gain smaller than the spread is no gain. The held-out
//! requests are resampled each time, because verdicts on the same requests would agree however much
//! requests differ. Further searches need no proof, so they are local searches unless a strategy is
//! given. These mostly find the proven optimum.

use crate::held_out::compare_on;
use crate::objective::Objective;
use crate::progress::Progress;
use crate::requests::TrainTestSplit;
use crate::strategy::Strategy;
use crate::weights::Weighted;
use crate::{Error, Evaluated, Outcome, Settings, partition};
use corehop_traces::Trace;

/// The verdict of one search, on one sample of the requests.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Resample {
    /// The seed that sampled its requests.
    pub seed: u64,
    /// The objective's value on requests not searched, as a share of one core's; `None` if every
    /// request was searched, one core's value is 0, or the search was stopped.
    pub ratio: Option<f64>,
    /// The same for the first sample's plan, on the same requests.
    pub plan_ratio: Option<f64>,
}

impl Resample {
    /// Returns the verdict of the first search.
    pub fn of(seed: u64, evaluated: &Evaluated, objective: Objective) -> Resample {
        let held_out = evaluated.held_out.as_ref();
        let ratio = held_out.and_then(|held_out| held_out.ratio(objective));
        Resample {
            seed,
            ratio,
            plan_ratio: ratio,
        }
    }
}

/// Searches again with the `more` seeds after that of `settings`, and evaluates the splits found
/// and the split of `first`. If the first search ran out of time, no further search is made. If the
/// user stops the search, there are fewer resamples.
///
/// # Errors
/// As [`partition`].
pub fn resample(
    trace: &Trace,
    machines: &[Weighted],
    settings: &Settings<'_>,
    first: &Outcome,
    more: u32,
    progress: &dyn Progress,
) -> Result<Vec<Resample>, Error> {
    let seeds = (1..=u64::from(more)).map(|next| (settings.seed + next) % (i64::MAX as u64));
    let resample = |seed| {
        let settings = Settings {
            seed,
            strategy: settings.strategy.or(Some(Strategy::Local)),
            delegate: settings.delegate.silently(),
            evaluate_held_out: false,
            compare_fewer: false,
            ..*settings
        };
        let mut splits = vec![first.replayed()];
        if !first.ranking.stopped {
            let outcome = partition(trace, machines, &settings, progress)?;
            // The best split of a stopped search is no information about requests.
            let whole = Some(outcome).filter(|outcome| !outcome.ranking.stopped);
            splits.extend(whole.map(|outcome| outcome.replayed()));
        }
        let train_test = TrainTestSplit::of(trace.requests(), settings.searched, seed)?;
        let train_test = train_test.apart_from(&first.seen(), seed);
        let mut ratios = [None, None];
        if !train_test.held_out.is_empty() {
            let evaluated = compare_on((trace, machines, &train_test), &splits, progress)?;
            for (ratio, evaluated) in ratios.iter_mut().zip(&evaluated) {
                *ratio = evaluated.ratio(settings.objective);
            }
        }
        let [plan_ratio, ratio] = ratios;
        Ok(Resample {
            seed,
            ratio,
            plan_ratio,
        })
    };
    seeds
        .take_while(|_| !progress.is_stopped())
        .map(resample)
        .collect()
}

/// Summary of several resamples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Verdicts {
    /// The mean ratio of the plan.
    pub mean: f64,
    /// The smallest ratio, of the plan or of another sample's split.
    pub least: f64,
    /// The largest ratio of these.
    pub most: f64,
}

impl Verdicts {
    /// Summarizes all resamples with a ratio; `None` if none has a ratio of the plan.
    pub fn of(resamples: &[Resample]) -> Option<Verdicts> {
        let of_plan: Vec<f64> = resamples
            .iter()
            .filter_map(|resample| resample.plan_ratio)
            .collect();
        let others = resamples.iter().filter_map(|resample| resample.ratio);
        let ratios: Vec<f64> = of_plan.iter().copied().chain(others).collect();
        (!of_plan.is_empty()).then(|| Verdicts {
            mean: of_plan.iter().sum::<f64>() / of_plan.len() as f64,
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Whether the split gains: the plan's mean gain must exceed the spread of the ratios. With one
    /// resample, any gain suffices.
    pub fn pays(&self) -> bool {
        1.0 - self.mean > self.most - self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resamples whose search and plan have these ratios.
    fn resamples(ratios: &[(f64, f64)]) -> Vec<Resample> {
        let resample = |(seed, &(ratio, plan_ratio)): (u64, &(f64, f64))| Resample {
            seed,
            ratio: Some(ratio),
            plan_ratio: Some(plan_ratio),
        };
        (0..).zip(ratios).map(resample).collect()
    }

    fn pays(ratios: &[(f64, f64)]) -> bool {
        Verdicts::of(&resamples(ratios)).unwrap().pays()
    }

    #[test]
    fn a_gain_larger_than_the_spread_of_resamples_pays() {
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
        // On other requests, the search finds splits that gain half, and the plan gains nothing.
        let verdicts = Verdicts::of(&resamples(&[(0.5, 0.5), (0.5, 1.0), (0.5, 1.0)])).unwrap();
        assert_eq!(verdicts.mean, 2.5 / 3.0);
        assert_eq!((verdicts.least, verdicts.most), (0.5, 1.0));
        assert!(!verdicts.pays());
        // The plan gains the same everywhere, but the search result depends on chance.
        assert!(!pays(&[(0.875, 0.875), (1.125, 0.875)]));
    }

    #[test]
    fn resamples_without_a_ratio_say_nothing() {
        let resample = |plan_ratio| Resample {
            seed: 1,
            ratio: None,
            plan_ratio,
        };
        assert_eq!(Verdicts::of(&[resample(None)]), None);
        assert_eq!(Verdicts::of(&[]), None);
        let verdicts = Verdicts::of(&[resample(None), resample(Some(0.5))]).unwrap();
        assert_eq!(
            (verdicts.least, verdicts.mean, verdicts.most),
            (0.5, 0.5, 0.5)
        );
    }
}
