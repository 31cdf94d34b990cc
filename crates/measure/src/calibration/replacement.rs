//! Whether a circular path larger than the L2 misses always, or only in part.
//!
//! An LRU cache keeps nothing of a path a quarter larger than itself: each line is evicted before
//! the path returns to it. The other policies that a machine file knows behave alike, with two
//! exceptions. Tree PLRU hits once in a hundred. With random replacement, the path misses in 43 to
//! 45 % of accesses (tests/calibration/policies.rs). Real caches often keep about as much. The miss
//! share follows from the path's latency, which lies between those of the L2 and of the next level.
//!
//! Physical memory places pages at random, so some sets get no more lines of the path than they
//! have ways. These lines hit with LRU, too ([`lru_share`]). The machine file gets random
//! replacement if that is nearer, and notes the finding.

use crate::calibration::caches::{Latencies, circular_bytes};
use corehop_simulator::{Machine, PAGE_BYTES};
use serde::Serialize;

/// The miss share of random replacement.
const RANDOM_SHARE: f64 = 0.44;

/// Returns the miss share of LRU on the path, if each page is at a random place: the share of lines
/// in sets that have more lines than ways. The number of pages in the same sets is binomial.
fn lru_share(described: &Machine) -> f64 {
    let l2 = &described.l2;
    let places = (l2.size_bytes / u64::from(l2.ways) / PAGE_BYTES).max(1) as f64;
    let pages = circular_bytes(described) / PAGE_BYTES;
    let chance = 1.0 / places;
    let mut share = 0.0;
    // The chance that of the other pages, `others` are at the place of a page.
    let mut of_others = (1.0 - chance).powf(pages as f64 - 1.0);
    for others in 0..u64::from(l2.ways).min(pages) {
        share += of_others;
        let left = (pages - 1 - others) as f64;
        of_others *= left / (others + 1) as f64 * chance / (1.0 - chance).max(f64::MIN_POSITIVE);
    }
    (1.0 - share).clamp(0.0, 1.0)
}

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
        misses: match miss_share >= (RANDOM_SHARE + lru_share(described)) / 2.0 {
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
    fn where_pages_lie_at_random_lru_keeps_some_of_the_path() {
        let share = |name: &str| lru_share(&Machine::named_or_path(name).unwrap());
        // Of 640 pages, 20 on average in each of 32 places of 16 ways.
        let large = share("xeon-8480");
        assert!((0.80..0.90).contains(&large), "{large}");
        // Of 320 pages, 10 on average in each of 32 places of 8 ways.
        let small = share("epyc-9004");
        assert!((0.70..0.82).contains(&small), "{small}");
        for name in Machine::bundled() {
            assert!(share(name) > RANDOM_SHARE, "{name}: {}", share(name));
        }
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
