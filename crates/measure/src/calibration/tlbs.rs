//! Measures the TLBs for data, by walks with one line in each page.
//!
//! The lines of such a walk fit a cache, so its latency rises with the number of pages only when a
//! TLB no longer holds them. In a virtual machine, huge pages may not help: the processor caches
//! translations of the hypervisor's page size if that is smaller. So the same walks tell how much
//! of the latencies of the L3 and of memory is translation.

use crate::calibration::clock::core_ghz;
use crate::calibration::effort::Effort;
use crate::calibration::error::Error;
use crate::calibration::native::mapping::Pages;
use crate::calibration::observer::{Observer, step};
use crate::calibration::samples::median;
use crate::calibration::walk::{
    CELL_BYTES, CellWalk, FLUSHED_LINES, Order, PAGE_BYTES, Repeated, Walk,
};
use corehop_simulator::machine::LINE_SIZE_BYTES;
use corehop_simulator::{Machine, PageSize, Tlb, Translation};
use serde::Serialize;

/// Fewest cycles by which the second level must be slower to be seen.
const LEAST_RISE: f64 = 2.0;

/// Pages of a second level whose size is unknown.
const USUAL_SECOND_LEVEL: u32 = 2048;

/// The measured TLBs for data in small pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tlbs {
    /// Number of pages that the first level holds; missing if the latency does not rise.
    pub first_level_pages: Option<u32>,
    /// Cycles that a lookup in the second level adds.
    pub second_level_cycles: Option<f64>,
    /// Cycles that a page walk adds to that.
    pub walk_cycles: Option<f64>,
    /// Latency of a load, by the number of pages.
    pub points: Vec<PagePoint>,
    /// Cycles of translation in a load of the walk of the L3.
    #[serde(skip)]
    pub(crate) of_l3: f64,
    /// Cycles of translation in a load of the walk of memory.
    #[serde(skip)]
    pub(crate) of_memory: f64,
}

/// Latency of a walk over so many pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PagePoint {
    /// Number of pages, with a line each.
    pub pages: u32,
    /// Cycles of a load.
    pub cycles: f64,
}

/// A walk, and its readings in cycles.
struct Trial {
    walk: Box<dyn Repeated>,
    cycles: Vec<f64>,
}

impl Trial {
    fn new(walk: impl Repeated + 'static) -> Trial {
        Trial {
            walk: Box::new(walk),
            cycles: Vec::new(),
        }
    }

    /// A line in each of these cells, and as many adjacent lines: what differs is translation.
    fn pair(cells: u32, cell_bytes: usize, pages: Pages) -> Result<[Trial; 2], Error> {
        let dense = u64::from(cells) * LINE_SIZE_BYTES;
        Ok([
            Trial::new(CellWalk::new(cells as usize, cell_bytes, pages)?),
            Trial::new(Walk::of(dense, Order::Random, Pages::Huge)?),
        ])
    }
}

/// Measures on the CPU that the calling thread is pinned to.
pub fn measure(
    described: &Machine,
    effort: &Effort,
    observer: &dyn Observer,
) -> Result<Tlbs, Error> {
    let counts = counts(described);
    let mut trials = Vec::new();
    for &pages in &counts {
        let walk = CellWalk::new(pages as usize, PAGE_BYTES, Pages::Small)?;
        trials.push(Trial::new(walk));
    }
    let l3_pages = (3 * described.l2.size_bytes / PAGE_BYTES as u64) as u32;
    trials.extend(Trial::pair(walked(described), PAGE_BYTES, Pages::Small)?);
    trials.extend(Trial::pair(l3_pages, PAGE_BYTES, Pages::Huge)?);
    trials.extend(Trial::pair(FLUSHED_LINES as u32, CELL_BYTES, Pages::Huge)?);
    observer.begin("measurements of TLBs made", effort.rounds);
    for _ in 0..effort.rounds {
        for trial in &mut trials {
            trial.walk.warm_up();
            let ghz = core_ghz();
            for _ in 0..effort.repetitions {
                trial.cycles.push(trial.walk.repeat() * ghz);
            }
        }
        step(observer)?;
    }
    observer.end();
    let cycles: Vec<f64> = trials.iter().map(|trial| median(&trial.cycles)).collect();
    let (points, pairs) = cycles.split_at(counts.len());
    let points = counts.iter().zip(points);
    let points = points.map(|(&pages, &cycles)| PagePoint { pages, cycles });
    let translation = |pair: usize| (pairs[2 * pair] - pairs[2 * pair + 1]).max(0.0);
    Ok(Tlbs {
        of_l3: translation(1),
        of_memory: translation(2),
        ..Tlbs::of(points.collect(), translation(0))
    })
}

/// Returns numbers of pages whose lines leave room in the L1D, in rising order.
fn counts(described: &Machine) -> Vec<u32> {
    let most = described.l1d.size_bytes / LINE_SIZE_BYTES * 5 / 8;
    let near = (2..=16).map(|eights| 8 * eights);
    let all = near.chain([160, 192, 256, 320, 384]);
    all.filter(|&pages| u64::from(pages) <= most).collect()
}

/// Returns a number of pages that no TLB holds.
fn walked(described: &Machine) -> u32 {
    let translation = described.translation.as_ref();
    let second = translation.and_then(|translation| {
        let place = translation.tlb(2, false, PageSize::Small)?;
        Some(translation.tlbs[place].entries)
    });
    4 * second.unwrap_or(USUAL_SECOND_LEVEL)
}

impl Tlbs {
    /// Derives the first level from the points, which rise in pages; `beyond` are the cycles of
    /// translations that no TLB holds.
    fn of(points: Vec<PagePoint>, beyond: f64) -> Tlbs {
        let cycles = |range: &[PagePoint]| {
            let cycles: Vec<f64> = range.iter().map(|point| point.cycles).collect();
            (!cycles.is_empty()).then(|| median(&cycles))
        };
        let few = points.iter().take_while(|point| point.pages <= 32).count();
        let many = points.len().saturating_sub(2).max(few);
        let rise = cycles(&points[..few]).zip(cycles(&points[many..]));
        let Some((base, second)) = rise.filter(|(base, second)| second - base >= LEAST_RISE) else {
            return Tlbs {
                points,
                ..Tlbs::default()
            };
        };
        let limit = base + (second - base) / 4.0;
        let held = points.iter().take_while(|point| point.cycles < limit);
        Tlbs {
            first_level_pages: held.last().map(|point| point.pages),
            second_level_cycles: Some(second - base),
            walk_cycles: Some((beyond - (second - base)).max(0.0)),
            points,
            ..Tlbs::default()
        }
    }

    /// Returns the cycles of translation in a load of a random walk through this many bytes that
    /// the second level holds.
    pub(crate) fn cycles_of(&self, bytes: u64) -> f64 {
        let pages = bytes as f64 / PAGE_BYTES as f64;
        let held = self
            .first_level_pages
            .map_or(1.0, |held| f64::from(held) / pages);
        self.second_level_cycles.unwrap_or(0.0) * (1.0 - held.min(1.0))
    }

    /// Returns a translation with measured values; `l2_cycles` is the latency of the L2, which
    /// serves most loads of the measured walks.
    pub(crate) fn improved(&self, described: &Translation, l2_cycles: f64) -> Translation {
        let mut translation = described.clone();
        let first = translation.tlb(1, false, PageSize::Small);
        if let Some((place, pages)) = first.zip(self.first_level_pages) {
            let tlb = &mut translation.tlbs[place];
            if tlb.entries != pages {
                let ways = tlb.ways();
                *tlb = Tlb {
                    entries: pages,
                    ways: pages.is_multiple_of(ways).then_some(ways),
                    ..tlb.clone()
                };
            }
        }
        if let Some(cycles) = self.second_level_cycles {
            translation.second_level_cycles = cycles.round() as u32;
        }
        if let Some(cycles) = self.walk_cycles {
            translation.walk_cycles = (cycles - l2_cycles).max(0.0).round() as u32;
        }
        translation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(u32) -> f64) -> Vec<PagePoint> {
        let counts = counts(&Machine::named_or_path("xeon-8480").unwrap());
        let point = |pages| PagePoint {
            pages,
            cycles: of(pages),
        };
        counts.into_iter().map(point).collect()
    }

    #[test]
    fn the_first_level_holds_the_pages_before_the_latency_rises() {
        let tlbs = Tlbs::of(
            points(|pages| match pages {
                0..=96 => 5.0,
                97..=104 => 8.0,
                _ => 12.0,
            }),
            80.0,
        );
        assert_eq!(tlbs.first_level_pages, Some(96));
        assert_eq!(tlbs.second_level_cycles, Some(7.0));
        assert_eq!(tlbs.walk_cycles, Some(73.0));
        let described = Machine::named_or_path("xeon-e5-2620-v4").unwrap();
        let improved = tlbs.improved(&described.translation.unwrap(), 16.0);
        let first = improved.tlb(1, false, PageSize::Small).unwrap();
        assert_eq!(improved.tlbs[first].entries, 96);
        assert_eq!(improved.second_level_cycles, 7);
        assert_eq!(improved.walk_cycles, 57);
    }

    #[test]
    fn a_latency_that_does_not_rise_changes_nothing() {
        let tlbs = Tlbs::of(points(|pages| 5.0 + f64::from(pages) / 1000.0), 80.0);
        assert_eq!(tlbs.first_level_pages, None);
        let described = Machine::named_or_path("xeon-8480").unwrap();
        let described = described.translation.unwrap();
        assert_eq!(tlbs.improved(&described, 16.0), described);
    }

    #[test]
    fn walks_have_pages_that_every_bundled_machine_can_tell_apart() {
        for name in Machine::bundled() {
            let machine = Machine::named_or_path(name).unwrap();
            let counts = counts(&machine);
            let translation = machine.translation.as_ref().unwrap();
            let place = translation.tlb(1, false, PageSize::Small).unwrap();
            assert!(
                translation.tlbs[place].entries < *counts.last().unwrap(),
                "{name}"
            );
        }
    }
}
