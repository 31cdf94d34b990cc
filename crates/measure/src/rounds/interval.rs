//! Confidence interval of a ratio: Student's t on the logarithms of paired rounds.
//!
//! Original and patched alternate, so other load on the machine affects both of a round. Their
//! ratio in each round is one observation. Ratios multiply, so the interval uses the mean and
//! standard deviation of their logarithms (NIST/SEMATECH e-Handbook of Statistical Methods,
//! 7.2.2.1: mean ± t(1 - α/2, n - 1) s / sqrt(n)). Rejected: resampling, which is too narrow for
//! ten rounds, and separate intervals of each side, which count common noise twice.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability that such an interval contains the true ratio.
pub const CONFIDENCE: f64 = 0.95;

/// Changes of this many percent are noticeable. An interval around 1 that reaches further is
/// inconclusive, because it includes noticeable changes.
pub const TELLING_PERCENT: f64 = 5.0;

/// The same as a ratio.
const TELLING: f64 = 1.0 + TELLING_PERCENT / 100.0;

/// Throughput of the patched server as a multiple of the original's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The geometric mean of the rounds' ratios.
    pub ratio: f64,
    /// The lower end of the interval that holds the true ratio with [`CONFIDENCE`].
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Conclusion from an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval is above 1.
    Faster,
    /// The interval is below 1.
    Slower,
    /// The interval contains 1, and no change of [`TELLING_PERCENT`] or more.
    NoDifference,
    /// The interval contains 1 and such changes.
    Inconclusive,
}

impl Comparison {
    /// Compares at least two rounds of (original, patched), all above 0.
    pub fn of(rounds: &[(f64, f64)]) -> Comparison {
        Comparison::with_confidence(rounds, CONFIDENCE)
    }

    /// The same, with an interval of this confidence level.
    pub(super) fn with_confidence(rounds: &[(f64, f64)], confidence: f64) -> Comparison {
        let count = rounds.len() as f64;
        let (mean, deviation) = moments(rounds);
        let half = quantile(count - 1.0, confidence) * deviation / count.sqrt();
        Comparison {
            ratio: mean.exp(),
            low: (mean - half).exp(),
            high: (mean + half).exp(),
        }
    }

    /// Returns the standard deviation of the logarithms of the ratios, of at least two rounds.
    pub(super) fn deviation(rounds: &[(f64, f64)]) -> f64 {
        moments(rounds).1
    }

    /// Returns the conclusion from the interval.
    pub fn verdict(&self) -> Verdict {
        match (self.low > 1.0, self.high < 1.0) {
            (true, _) => Verdict::Faster,
            (_, true) => Verdict::Slower,
            _ if self.high < TELLING && self.low > 1.0 / TELLING => Verdict::NoDifference,
            _ => Verdict::Inconclusive,
        }
    }

    /// Returns the smallest distance from 1, in percent, that the interval distinguishes from 1.
    pub fn resolution_percent(&self) -> f64 {
        (self.high / self.ratio - 1.0) * 100.0
    }

    /// Whether the interval proves a gain of this many percent or more.
    pub fn gains(&self, percent: f64) -> bool {
        self.low >= 1.0 + percent / 100.0
    }
}

/// Returns mean and standard deviation of the logarithms of the ratios.
fn moments(rounds: &[(f64, f64)]) -> (f64, f64) {
    let count = rounds.len() as f64;
    let logarithms = || {
        rounds
            .iter()
            .map(|(original, patched)| (patched / original).ln())
    };
    let mean = logarithms().sum::<f64>() / count;
    let squares: f64 = logarithms().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

/// Returns the factor of the two-sided interval.
pub(super) fn quantile(freedom: f64, confidence: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom).expect("at least two rounds");
    distribution.inverse_cdf(f64::midpoint(1.0, confidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::noise::Noise;
    use proptest::prelude::*;

    /// Recorded rounds: memcached against itself, and staged.c with and without the carrier
    /// backend.
    const SAME: [(f64, f64); 5] = [
        (41_230.0, 40_911.0),
        (40_015.0, 41_120.0),
        (41_502.0, 41_377.0),
        (39_880.0, 40_205.0),
        (41_044.0, 40_790.0),
    ];
    const STAGED: [(f64, f64); 5] = [
        (178.5, 310.1),
        (171.2, 305.9),
        (180.3, 298.4),
        (169.9, 312.8),
        (176.0, 301.5),
    ];

    #[test]
    fn the_same_twice_is_no_difference_and_a_gain_is_one() {
        let same = Comparison::of(&SAME);
        assert_eq!(same.verdict(), Verdict::NoDifference);
        assert!(!same.gains(0.0));
        let staged = Comparison::of(&STAGED);
        assert_eq!(staged.verdict(), Verdict::Faster);
        assert!(staged.gains(60.0) && !staged.gains(80.0), "{staged:?}");
        let swapped = STAGED.map(|(original, patched)| (patched, original));
        assert_eq!(Comparison::of(&swapped).verdict(), Verdict::Slower);
    }

    #[test]
    fn rounds_that_agree_too_little_or_are_too_few_say_nothing() {
        let of = |rounds: &[(f64, f64)]| Comparison::of(rounds).verdict();
        assert_eq!(of(&SAME[..2]), Verdict::Inconclusive);
        assert_eq!(of(&[(100.0, 6.0), (90.0, 40.0)]), Verdict::Inconclusive);
        assert_eq!(of(&[(100.0, 100.0), (90.0, 90.0)]), Verdict::NoDifference);
    }

    /// Table 1.3.6.7.2 of the same handbook, two-sided 95 %.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (9.0, 2.262), (30.0, 2.042)] {
            assert!(
                (quantile(freedom, CONFIDENCE) - expected).abs() < 0.0006,
                "{freedom}"
            );
        }
    }

    /// Integrates the density of Student's t in small steps from 0; constants by the recurrence of
    /// the gamma function.
    fn naive_share_within(limit: f64, freedom: u32) -> f64 {
        let n = f64::from(freedom);
        let mut constant = if freedom % 2 == 1 {
            1.0 / std::f64::consts::PI
        } else {
            0.5
        };
        let mut lower = if freedom % 2 == 1 { 1 } else { 2 };
        if freedom.is_multiple_of(2) {
            constant /= 2f64.sqrt();
        }
        while lower < freedom {
            let k = f64::from(lower);
            constant *= (k + 1.0) / k * (k / (k + 2.0)).sqrt();
            lower += 2;
        }
        let steps = 20_000;
        let width = limit / f64::from(steps);
        let density = |t: f64| constant * (1.0 + t * t / n).powf(-(n + 1.0) / 2.0);
        let middles = (0..steps).map(|step| (f64::from(step) + 0.5) * width);
        2.0 * width * middles.map(density).sum::<f64>()
    }

    #[test]
    fn as_much_lies_within_the_quantile_as_the_density_adds_up_to() {
        for freedom in 1..30 {
            let share = naive_share_within(quantile(f64::from(freedom), CONFIDENCE), freedom);
            assert!((share - CONFIDENCE).abs() < 1e-5, "{freedom}: {share}");
        }
    }

    /// Makes 2000 comparisons of servers that differ by 3 %, with noise of 5 % per round.
    #[test]
    fn nineteen_intervals_in_twenty_hold_the_true_ratio() {
        let mut noise = Noise::new(1);
        let holds = (0..2000).filter(|_| {
            let mut round = || (100.0, noise.around(103.0));
            let rounds = [(); 6].map(|()| round());
            let Comparison { low, high, .. } = Comparison::of(&rounds);
            (low..=high).contains(&1.03)
        });
        let held = holds.count();
        assert!((1870..=1930).contains(&held), "{held} of 2000");
    }

    proptest! {
        #[test]
        fn the_interval_is_what_a_naive_reckoning_gives(
            rounds in prop::collection::vec((0.1f64..1e9, 0.1f64..1e9), 2..30),
        ) {
            let ratios: Vec<f64> = rounds.iter().map(|(o, p)| p.ln() - o.ln()).collect();
            let n = ratios.len() as f64;
            let mut differences = 0.0;
            for a in &ratios {
                for b in &ratios {
                    differences += (a - b) * (a - b);
                }
            }
            // The sum over all pairs is 2 n times the sum of squares around the mean.
            let error = (differences / (2.0 * n * (n - 1.0)) / n).sqrt();
            let mean = ratios.iter().sum::<f64>() / n;
            let found = Comparison::of(&rounds);
            let near = |a: f64, b: f64| (a.ln() - b).abs() < 1e-9 * (1.0 + b.abs());
            prop_assert!(near(found.ratio, mean));
            prop_assert!(near(found.low, mean - quantile(n - 1.0, CONFIDENCE) * error));
            prop_assert!(near(found.high, mean + quantile(n - 1.0, CONFIDENCE) * error));
            // A ratio at least as far from 1 as the resolution has a verdict.
            let distance = found.ratio.max(1.0 / found.ratio);
            let is_resolved = distance > 1.0 + found.resolution_percent() / 100.0;
            let has_verdict = matches!(found.verdict(), Verdict::Faster | Verdict::Slower);
            let margin = (distance.ln() - quantile(n - 1.0, CONFIDENCE) * error).abs();
            prop_assert!(is_resolved == has_verdict || margin < 1e-6, "{found:?}");
        }

        #[test]
        fn units_do_not_matter_and_swapping_sides_inverts(
            rounds in prop::collection::vec((0.1f64..1e6, 0.1f64..1e6), 2..20),
            scale in 0.001f64..1000.0,
        ) {
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            let found = Comparison::of(&rounds);
            let scaled: Vec<_> = rounds.iter().map(|(o, p)| (o * scale, p * scale)).collect();
            let scaled = Comparison::of(&scaled);
            prop_assert!(near(scaled.low, found.low) && near(scaled.high, found.high));
            let swapped: Vec<_> = rounds.iter().map(|(o, p)| (*p, *o)).collect();
            let swapped = Comparison::of(&swapped);
            prop_assert!(near(swapped.low, 1.0 / found.high));
            prop_assert!(near(swapped.ratio, 1.0 / found.ratio));
        }
    }
}
