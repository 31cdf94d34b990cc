//! How much of a result is chance: the same search on other requests.
//!
//! The requests searched are few and drawn at random. Other draws find other splits, and each is
//! judged on requests that it did not see; how far these verdicts lie apart is how far one of them
//! can be trusted. A gain smaller than that is no gain. Those other searches need no proof, so
//! unless a strategy was asked for they are local ones, which mostly end where a proof would.

use crate::objective::Objective;
use crate::progress::Progress;
use crate::strategy::Strategy;
use crate::weights::Weighted;
use crate::{Error, Judged, Settings, partition};
use corehop_traces::Trace;

/// The verdict of one search.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Draw {
    /// What drew its requests.
    pub seed: u64,
    /// The objective's value on requests not searched, as a share of one core's; `None` when every
    /// request was searched, or one core's is 0.
    pub ratio: Option<f64>,
}

impl Draw {
    /// The verdict of a search that is done.
    pub fn of(seed: u64, judged: &Judged, objective: Objective) -> Draw {
        let held_out = judged.held_out.as_ref();
        let ratio = held_out.and_then(|held_out| held_out.ratio(objective));
        Draw { seed, ratio }
    }
}

/// Searches again with the `more` seeds that follow that of `settings`; fewer when it is stopped.
///
/// # Errors
/// As [`partition`].
pub fn more_draws(
    trace: &Trace,
    machines: &[Weighted],
    settings: &Settings<'_>,
    more: u32,
    progress: &dyn Progress,
) -> Result<Vec<Draw>, Error> {
    let seeds = (1..=u64::from(more)).map(|next| (settings.seed + next) % (i64::MAX as u64));
    let draw = |seed| {
        let settings = Settings {
            seed,
            strategy: settings.strategy.or(Some(Strategy::Local)),
            delegate: settings.delegate.silently(),
            compare_fewer: false,
            ..*settings
        };
        let outcome = partition(trace, machines, &settings, progress)?;
        Ok(Draw::of(seed, &outcome.judged, settings.objective))
    };
    seeds
        .take_while(|_| !progress.is_stopped())
        .map(draw)
        .collect()
}

/// What several draws say together.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Verdicts {
    /// The mean ratio.
    pub mean: f64,
    /// The smallest ratio.
    pub least: f64,
    /// The largest ratio.
    pub most: f64,
}

impl Verdicts {
    /// Of all draws that have a ratio; `None` when none has.
    pub fn of(draws: &[Draw]) -> Option<Verdicts> {
        let ratios: Vec<f64> = draws.iter().filter_map(|draw| draw.ratio).collect();
        let least = ratios.iter().copied().reduce(f64::min)?;
        let most = ratios.iter().copied().reduce(f64::max)?;
        Some(Verdicts {
            mean: ratios.iter().sum::<f64>() / ratios.len() as f64,
            least,
            most,
        })
    }

    /// Whether splitting pays: the mean gain is larger than the draws lie apart. One draw pays when
    /// it gains anything.
    pub fn pays(&self) -> bool {
        1.0 - self.mean > self.most - self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(ratios: &[f64]) -> Verdicts {
        let draw = |(seed, &ratio): (u64, &f64)| Draw {
            seed,
            ratio: Some(ratio),
        };
        let draws: Vec<Draw> = (0..).zip(ratios).map(draw).collect();
        Verdicts::of(&draws).unwrap()
    }

    #[test]
    fn a_gain_larger_than_the_draws_lie_apart_pays() {
        assert!(verdicts(&[0.5, 0.625, 0.75]).pays());
        assert!(verdicts(&[0.99]).pays());
    }

    #[test]
    fn a_gain_within_the_noise_does_not_pay_nor_does_a_loss() {
        assert!(!verdicts(&[0.75, 1.0, 1.25]).pays());
        assert!(!verdicts(&[1.0]).pays());
        assert!(!verdicts(&[1.25, 1.25]).pays());
    }

    #[test]
    fn draws_without_a_ratio_say_nothing() {
        let draw = Draw {
            seed: 1,
            ratio: None,
        };
        assert_eq!(Verdicts::of(&[draw]), None);
        assert_eq!(Verdicts::of(&[]), None);
    }
}
