//! Whether a circular path that is larger than the L2 misses always, or in part.
//!
//! A cache that gives up the least recently used line keeps nothing of a path a quarter larger than
//! itself: each line has gone when the path comes back to it. So it is with the other policies that
//! a machine file knows, but for one miss in a hundred of a tree of bits, and for random, by which
//! a path misses in 43 to 45 % (tests/policies.rs). Real caches often keep about as much. How often
//! the path missed follows from its latency, which lies between those of the L2 and of the next
//! level. The machine file takes random where that is nearer than always, and says what was found.

use crate::calibration::caches::{Latencies, circular_bytes};
use corehop_simulator::Machine;
use serde::Serialize;

/// From this share of misses on, a path counts as missing always: halfway from what random
/// replacement misses to all.
const ALWAYS: f64 = 0.72;

/// How often the path misses, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misses {
    /// As with the least recently used line replaced, or the first that came, or a tree of bits.
    Always,
    /// As with a random one replaced.
    InPart,
}

/// What the circular path said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Replacement {
    /// How long the path is.
    pub path_bytes: u64,
    /// Which share of its references missed the L2, from 0 to 1.
    pub miss_share: f64,
    /// The same in words.
    pub misses: Misses,
}

/// What the latencies say; `None` where one of them is missing, or the levels take the same.
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
