//! Whether a circular path larger than the L2 misses always, or only in part.
//!
//! An LRU cache keeps nothing of a path a quarter larger than itself: each line is evicted before
//! the path returns to it. The other policies that a machine file knows behave alike, with two
//! exceptions. Tree PLRU hits once in a hundred. With random replacement, the path misses in 43 to
//! 45 % of accesses (tests/calibration/policies.rs). Real caches often keep about as much. The miss
//! share follows from the path's latency, which lies between those of the L2 and of the next level.
//! The machine file gets random replacement if that is nearer than always missing, and notes the
//! finding.

use crate::calibration::caches::{Latencies, circular_bytes};
use corehop_simulator::Machine;
use serde::Serialize;

/// From this miss share on, a path counts as always missing: halfway between the share of random
/// replacement and 1.
const ALWAYS: f64 = 0.72;

/// How often the path misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misses {
    /// As with LRU, FIFO or tree PLRU.
    Always,
    /// As with random replacement.
    InPart,
}

/// Result of the circular path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Replacement {
    /// Length of the path, in bytes.
    pub path_bytes: u64,
    /// Share of its accesses that missed the L2, from 0 to 1.
    pub miss_share: f64,
    /// The same as a category.
    pub misses: Misses,
}

/// Derives it from the latencies; `None` if one of them is missing, or if the levels take equally
/// long.
pub fn of(described: &Machine, latencies: &Latencies) -> Option<Replacement> {
    let median = |figure: Option<crate::calibration::samples::Figure>| Some(figure?.cycles.median);
    let (hit, path) = (median(latencies.l2)?, median(latencies.circular)?);
    let miss = median(latencies.l3.or(latencies.memory))?;
    if miss <= hit {
        return None;
    }
    let miss_share = ((path - hit) / (miss - hit)).clamp(0.0, 1.0);
    Some(Replacement {
        path_bytes: circular_bytes(described),
        miss_share,
        misses: match miss_share >= ALWAYS {
            true => Misses::Always,
            false => Misses::InPart,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::samples::{Figure, Readings};

    fn figure(cycles: f64) -> Option<Figure> {
        let mut readings = Readings::default();
        readings.push(cycles, 1.0);
        readings.figure()
    }

    #[test]
    fn the_share_of_misses_is_how_far_the_path_lies_between_the_levels() {
        let machine = Machine::named_or_path("xeon-8480").unwrap();
        let mut latencies = Latencies {
            l2: figure(16.0),
            l3: figure(66.0),
            circular: figure(41.0),
            ..Latencies::default()
        };
        let found = of(&machine, &latencies).unwrap();
        assert_eq!((found.miss_share, found.misses), (0.5, Misses::InPart));
        assert_eq!(found.path_bytes, 5 << 19);
        latencies.circular = figure(70.0);
        let found = of(&machine, &latencies).unwrap();
        assert_eq!((found.miss_share, found.misses), (1.0, Misses::Always));
        latencies.l3 = figure(16.0);
        assert_eq!(of(&machine, &latencies), None);
    }
}
