//! Finds where a latency curve bends: the size from which a level no longer serves a walk.
//!
//! The latencies of a level and of the next one are known from separate walks. The bend is where
//! the curve passes halfway from one to the other. For a level with LRU replacement, the bend is
//! its capacity, because a cyclic walk that is one line larger always misses. Other policies keep
//! part of a larger walk, so their curves bend later. A bend well below the size that the kernel
//! reports means that another program uses the level as well.

use serde::Serialize;

/// Latency of one step of a random walk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Size of the walk, in bytes.
    pub bytes: u64,
    /// Latency, in cycles.
    pub cycles: f64,
}

/// Effective capacity of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capacity {
    /// The level's name in machine files.
    pub level: &'static str,
    /// Capacity that the kernel reports.
    pub told_bytes: u64,
    /// Where the curve bends; `None` without a bend within the measured sizes.
    pub bend_bytes: Option<u64>,
}

/// Minimum ratio of two levels' latencies for the curve to show which of them served the walk.
const LEAST_STEP: f64 = 1.3;

/// Returns the size at which the curve, by rising size, passes halfway from `near` to `far` for
/// good.
///
/// Each point counts as the median of itself and its neighbors, and the next point must agree. A
/// single wrong point therefore makes no bend.
pub fn bend(curve: &[Point], near: f64, far: f64) -> Option<u64> {
    if far < near * LEAST_STEP {
        return None;
    }
    let halfway = near.midpoint(far);
    let smooth = smoothed(curve);
    let reached = |index: usize| smooth[index] >= halfway && smooth[index + 1] >= halfway;
    let index = (0..smooth.len().saturating_sub(1)).find(|&index| reached(index))?;
    let after = curve[index].bytes;
    let Some(before) = index.checked_sub(1) else {
        return Some(after);
    };
    let (low, high) = (smooth[before], smooth[index]);
    // A wrong point before the bend may lie above halfway.
    let way = ((halfway - low) / (high - low)).clamp(0.0, 1.0);
    let before = curve[before].bytes as f64;
    Some((before * (after as f64 / before).powf(way)) as u64)
}

/// Replaces each value by the median of itself and its neighbors; the first and last values stay.
fn smoothed(curve: &[Point]) -> Vec<f64> {
    let mut smooth: Vec<f64> = curve.iter().map(|point| point.cycles).collect();
    for (index, around) in curve.windows(3).enumerate() {
        let mut values = [around[0].cycles, around[1].cycles, around[2].cycles];
        values.sort_by(f64::total_cmp);
        smooth[index + 1] = values[1];
    }
    smooth
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEPS: usize = 4;

    /// Sizes in quarters of an octave from 4 KiB on.
    fn sizes() -> impl Iterator<Item = u64> {
        (0..60).map(|step| (4096.0 * 2_f64.powf(f64::from(step) / STEPS as f64)) as u64)
    }

    /// Three levels: each keeps a whole walk up to its capacity and nothing of a larger one.
    fn curve(capacities: [u64; 2], latencies: [f64; 3], noise: &[f64]) -> Vec<Point> {
        let cycles = |bytes| match bytes {
            _ if bytes <= capacities[0] => latencies[0],
            _ if bytes <= capacities[1] => latencies[1],
            _ => latencies[2],
        };
        let point = |(bytes, noise): (u64, &f64)| Point {
            bytes,
            cycles: cycles(bytes) * (1.0 + noise),
        };
        sizes().zip(noise).map(point).collect()
    }

    fn octaves_apart(a: u64, b: u64) -> f64 {
        (a as f64 / b as f64).log2().abs()
    }

    proptest! {
        #[test]
        fn bends_are_found_within_a_quarter_of_an_octave_under_noise(
            first in 15_u32..17, apart in 2_u32..5, quarters in 0_u32..4,
            ratios in [2.0_f64..8.0, 2.0_f64..8.0],
            noise in prop::collection::vec(-0.15_f64..0.15, 60),
        ) {
            let first = (2_f64.powi(first as i32) * 2_f64.powf(f64::from(quarters) / 4.0)) as u64;
            let second = first << apart;
            let latencies = [5.0, 5.0 * ratios[0], 5.0 * ratios[0] * ratios[1]];
            let curve = curve([first, second], latencies, &noise);
            let found = bend(&curve, latencies[0], latencies[1]).unwrap();
            prop_assert!(octaves_apart(found, first) <= 0.26, "{found} for {first}");
            let found = bend(&curve, latencies[1], latencies[2]).unwrap();
            prop_assert!(octaves_apart(found, second) <= 0.26, "{found} for {second}");
        }

        #[test]
        fn one_wrong_point_is_no_bend(wrong in 1_usize..20, factor in 2.0_f64..20.0) {
            let mut curve = curve([1 << 20, 1 << 22], [5.0, 15.0, 60.0], &[0.0; 60]);
            let expected = bend(&curve, 5.0, 15.0);
            curve[wrong].cycles *= factor;
            prop_assert_eq!(bend(&curve, 5.0, 15.0), expected);
        }
    }

    #[test]
    fn a_level_that_loses_little_by_little_bends_halfway() {
        let rising = |(step, bytes): (usize, u64)| Point {
            bytes,
            cycles: 10.0 + step as f64,
        };
        let curve: Vec<Point> = sizes().enumerate().map(rising).collect();
        let expected = 4096.0 * 2_f64.powf(20.5 / STEPS as f64);
        let found = bend(&curve, 20.0, 41.0).unwrap();
        assert!(octaves_apart(found, expected as u64) < 0.01, "{found}");
    }

    #[test]
    fn there_is_no_bend_beyond_the_sizes_measured_or_between_equal_levels() {
        let curve = curve([1 << 40, 1 << 41], [5.0, 15.0, 60.0], &[0.0; 60]);
        assert_eq!(bend(&curve, 5.0, 15.0), None);
        assert_eq!(bend(&curve, 4.0, 5.0), None);
        assert_eq!(bend(&[], 5.0, 15.0), None);
        let all_above = [4096, 8192].map(|bytes| Point {
            bytes,
            cycles: 50.0,
        });
        assert_eq!(bend(&all_above, 5.0, 15.0), Some(4096));
    }
}
