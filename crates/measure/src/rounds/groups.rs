//! Whether rounds fall into two groups: fast in some starts, slow in the others.
//!
//! A plan may be fast or slow by chance of a start, such as where the allocator places an object.
//! No start shows the mean of such rounds. So the ratios are split where the variance within both
//! parts is least. The split counts as two groups if it explains more of the variance than in 99 of
//! 100 samples of normal noise of that size (Engelman and Hartigan, "Percentage Points of a Test
//! for Clusters", JASA 64, 1969; the points here are simulated). Normal noise has no gap. The gap
//! must therefore also be wider than the spread of either group, and wide enough for a user to
//! notice. Rejected: the dip test, which finds nothing in few rounds.

use super::interval::TELLING_PERCENT;
use super::noise::Noise;
use serde::Serialize;

/// Minimum rounds of a group; a single one is an outlier.
const FEWEST_RUNS: usize = 2;

/// Number of simulated samples of normal noise; one in a hundred may look like two groups.
const SAMPLES: usize = 2000;

/// More rounds than this are judged by the threshold for this many, which is stricter.
const MOST_SIMULATED: usize = 100;

/// One group of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Number of rounds.
    pub runs: usize,
    /// Throughput of the patched server as a multiple of the original's, geometric mean.
    pub ratio: f64,
}

/// Returns the slower and the faster group of rounds (original, patched), if there are two.
pub fn groups(rounds: &[(f64, f64)]) -> Option<[Group; 2]> {
    let ratios = rounds
        .iter()
        .map(|(original, patched)| (patched / original).ln());
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let split = Split::best(&ratios)?;
    let (low, high) = ratios.split_at(split.at);
    let gap = high[0] - low[low.len() - 1];
    let widest = deviation(low).max(deviation(high));
    let is_gap = gap > 2.0 * widest && gap > (1.0 + TELLING_PERCENT / 100.0).ln();
    (is_gap && split.explained > chance(ratios.len())).then(|| {
        [low, high].map(|part| Group {
            runs: part.len(),
            ratio: mean(part).exp(),
        })
    })
}

/// A split of sorted values.
struct Split {
    /// Index of the first value of the upper part.
    at: usize,
    /// Share of the variance between both parts.
    explained: f64,
}

impl Split {
    /// Finds the split with the least variance within parts; `None` if values are too few or all
    /// equal.
    fn best(sorted: &[f64]) -> Option<Split> {
        let all = squares(sorted);
        let last = sorted.len().checked_sub(FEWEST_RUNS)?;
        let splits = (FEWEST_RUNS..=last).map(|at| {
            let (low, high) = sorted.split_at(at);
            let explained = 1.0 - (squares(low) + squares(high)) / all;
            Split { at, explained }
        });
        splits
            .filter(|split| split.explained.is_finite())
            .max_by(|one, other| one.explained.total_cmp(&other.explained))
    }
}

/// Returns the share of variance that the best split explains at most in 99 of 100 samples of
/// noise.
fn chance(values: usize) -> f64 {
    let values = values.min(MOST_SIMULATED);
    let mut noise = Noise::new(values as u64);
    let samples = (0..SAMPLES).map(|_| {
        let mut sample: Vec<f64> = (0..values).map(|_| noise.normal()).collect();
        sample.sort_by(f64::total_cmp);
        Split::best(&sample).map_or(1.0, |split| split.explained)
    });
    let mut samples: Vec<f64> = samples.collect();
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES * 99 / 100]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

fn deviation(values: &[f64]) -> f64 {
    (squares(values) / (values.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patched: &[f64]) -> Option<[Group; 2]> {
        let rounds: Vec<_> = patched.iter().map(|&patched| (5000.0, patched)).collect();
        groups(&rounds)
    }

    /// Requests per second of redis with a plan by argument; its objects were on one core in eleven
    /// of twenty starts.
    const REDIS: [f64; 20] = [
        4900.0, 7400.0, 5130.0, 5480.0, 8580.0, 5010.0, 5220.0, 7900.0, 8120.0, 4980.0, 7600.0,
        5300.0, 5150.0, 8300.0, 5400.0, 7750.0, 5050.0, 8010.0, 5260.0, 8200.0,
    ];

    #[test]
    fn runs_of_which_half_are_fast_are_two_groups_with_their_sizes() {
        let [low, high] = of(&REDIS).expect("two groups");
        assert_eq!((low.runs, high.runs), (11, 9));
        assert!((1.0..1.08).contains(&low.ratio), "{low:?}");
        assert!((1.55..1.65).contains(&high.ratio), "{high:?}");
    }

    #[test]
    fn neither_one_outlier_nor_few_or_equal_rounds_are_two_groups() {
        assert_eq!(of(&[100.0, 101.0, 99.0, 100.5, 100.2, 180.0]), None);
        assert_eq!(of(&[100.0, 180.0, 181.0]), None);
        assert_eq!(of(&[100.0; 10]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn groups_that_differ_by_less_than_a_user_notices_are_one() {
        assert_eq!(
            of(&[100.0, 104.0, 100.1, 104.1, 99.9, 103.9, 100.0, 104.0]),
            None
        );
        assert!(of(&[100.0, 112.0, 100.1, 112.1, 99.9, 111.9, 100.0, 112.0]).is_some());
    }

    #[test]
    fn noise_is_seldom_two_groups() {
        let mut noise = Noise::new(3);
        for rounds in [6, 10, 20] {
            let found = (0..300).filter(|_| {
                let patched: Vec<f64> = (0..rounds).map(|_| noise.around(150.0)).collect();
                of(&patched).is_some()
            });
            let found = found.count();
            assert!(found <= 6, "{found} of 300 samples of {rounds} rounds");
        }
    }

    /// If half of the starts are 1.5 times as fast, twenty rounds show it nearly always.
    #[test]
    fn two_groups_of_twenty_rounds_are_nearly_always_found() {
        let mut noise = Noise::new(4);
        let found = (0..300).filter(|_| {
            let mut start = || match noise.chance(0.5) {
                true => noise.around(150.0),
                false => noise.around(100.0),
            };
            let patched: Vec<f64> = (0..20).map(|_| start()).collect();
            of(&patched).is_some()
        });
        let found = found.count();
        assert!(found >= 285, "{found} of 300");
    }

    /// For infinitely many values, the best split, at the mean, explains 2 / pi of the variance.
    #[test]
    fn fewer_values_are_split_better_by_chance() {
        let [six, ten, twenty] = [6, 10, 20].map(chance);
        assert!(
            1.0 > six && six > ten && ten > twenty,
            "{six} {ten} {twenty}"
        );
        assert!(twenty > std::f64::consts::FRAC_2_PI, "{twenty}");
    }
}
