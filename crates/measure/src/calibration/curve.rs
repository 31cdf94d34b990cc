//! Latency of one step of a random walk, by the size of the walk. The curve's bends show each
//! cache's effective capacity.

use crate::calibration::bend::{Capacity, Point, bend};
use crate::calibration::caches::Latencies;
use crate::calibration::clock::core_ghz;
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::native::mapping::Pages;
use crate::calibration::observer::{Observer, step};
use crate::calibration::samples::{Figure, Readings, median};
use crate::calibration::walk::{Order, Repeated, Walk, memory};
use corehop_simulator::Machine;
use corehop_simulator::machine::LINE_SIZE_BYTES;
use procfs::{Current, Meminfo};
use std::ops::RangeInclusive;

/// A walk uses at most one part in this many of the free memory.
const SHARE_OF_MEMORY: u64 = 4;
/// Free memory to assume if the kernel does not report it.
const USUAL_FREE_BYTES: u64 = 1 << 30;

/// Results of the walks.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Points of the curve, by rising size.
    pub points: Vec<Point>,
    /// Latency of a step served by the third level, over all walks of two to four times the second
    /// level, which keeps little of them.
    pub l3: Option<Figure>,
}

/// Measures on the CPU that the calling thread is pinned to.
pub fn measure(
    described: &Machine,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Curve, Error> {
    let most = effort
        .largest_walk_bytes
        .min(free_bytes() / SHARE_OF_MEMORY);
    let sizes = sizes(described, effort.steps_per_octave, most);
    let largest = *sizes.last().expect("a size at least");
    observer.begin(
        "latencies measured",
        effort.curve_rounds * sizes.len() as u64,
    );
    let mut readings = vec![Vec::new(); sizes.len()];
    let mut l3 = Readings::default();
    let served_by_l3 = served_by_l3(described);
    let mut mapping = memory(largest, Pages::Huge)?;
    for _ in 0..effort.curve_rounds {
        for (bytes, readings) in sizes.iter().zip(&mut readings) {
            let mut walk = Walk::through(mapping, *bytes, Order::Random);
            walk.warm_up();
            let ghz = core_ghz();
            for _ in 0..effort.repetitions {
                let ns = walk.repeat();
                readings.push(ns * ghz);
                if served_by_l3.contains(bytes) {
                    l3.push(ns, ghz);
                }
            }
            mapping = walk.into_mapping();
            step(observer)?;
        }
    }
    observer.end();
    let point = |(bytes, readings): (u64, &Vec<f64>)| Point {
        bytes,
        cycles: median(readings),
    };
    Ok(Curve {
        points: sizes.into_iter().zip(&readings).map(point).collect(),
        l3: l3.figure(),
    })
}

/// Sizes of walks that the third level serves; empty without a third level.
fn served_by_l3(described: &Machine) -> RangeInclusive<u64> {
    let l2 = described.l2.size_bytes;
    let most = described.l3.map_or(0, |l3| (4 * l2).min(l3.size_bytes / 2));
    2 * l2..=most
}

/// Sizes from a quarter of the L1D to four times the last level, or to `most`.
fn sizes(described: &Machine, steps_per_octave: u32, most: u64) -> Vec<u64> {
    let last = described.l3.unwrap_or(described.l2).size_bytes;
    let first = (described.l1d.size_bytes / 4).max(LINE_SIZE_BYTES);
    let most = (4 * last).min(most).max(first);
    let size = |step: u32| {
        let bytes = first as f64 * 2_f64.powf(f64::from(step) / f64::from(steps_per_octave));
        bytes as u64 / LINE_SIZE_BYTES * LINE_SIZE_BYTES
    };
    (0..).map(size).take_while(|&bytes| bytes <= most).collect()
}

/// Returns the free memory of the machine, or of the container if that is less.
fn free_bytes() -> u64 {
    let available = Meminfo::current().ok();
    let available = available.and_then(|memory| memory.mem_available);
    let limits = ["memory.max", "memory/memory.limit_in_bytes"].map(|file| {
        let told = std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?;
        told.trim().parse().ok()
    });
    let known = limits.into_iter().flatten().chain(available);
    known.min().unwrap_or(USUAL_FREE_BYTES)
}

/// Derives each level's effective capacity from the curve and the levels' latencies.
pub fn capacities(described: &Machine, latencies: &Latencies, curve: &[Point]) -> Vec<Capacity> {
    let cycles = [
        latencies.l1d,
        latencies.l2,
        latencies.l3.filter(|_| described.l3.is_some()),
        latencies.memory,
    ];
    let cycles = cycles.map(|figure| figure.map(|figure| figure.cycles.median));
    let levels = [
        ("l1d", Some(described.l1d), cycles[0], cycles[1]),
        ("l2", Some(described.l2), cycles[1], cycles[2].or(cycles[3])),
        ("l3", described.l3, cycles[2], cycles[3]),
    ];
    let capacity = |(level, told, near, far): (_, Option<_>, Option<f64>, Option<f64>)| {
        let told: corehop_simulator::Level = told?;
        Some(Capacity {
            level,
            told_bytes: told.size_bytes,
            bend_bytes: near.zip(far).and_then(|(near, far)| bend(curve, near, far)),
        })
    };
    levels.into_iter().filter_map(capacity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rise_by_even_steps_in_whole_lines_and_stay_within_what_is_free() {
        let machine = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        let all = sizes(&machine, 4, u64::MAX);
        assert_eq!(all[0], 8192);
        assert_eq!(all[4], 16_384);
        assert!(all.iter().all(|bytes| bytes % LINE_SIZE_BYTES == 0));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        let largest = *all.last().unwrap();
        assert!(
            largest > 3 * (20 << 20) && largest <= 4 * (20 << 20),
            "{largest}"
        );
        assert_eq!(sizes(&machine, 1, 50_000), [8192, 16_384, 32_768]);
        assert_eq!(sizes(&machine, 1, 10), [8192], "nothing free");
    }
}
