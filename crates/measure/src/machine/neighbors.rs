//! Whether something else uses the other hardware threads of this machine's cores: most often
//! another virtual machine.
//!
//! Both threads of a core share its adders and its caches, L2 included. The kernel of a virtual
//! machine sees neither the other thread nor its work; the time that a hypervisor takes (steal)
//! does not contain it. But a core does several independent additions per cycle, and about half as
//! many while its other thread is busy. Additions in a chain take a cycle each in both cases, so
//! the quotient of the two does not depend on the clock. A core whose quotient varies has
//! neighbors. One that never varies may be alone, or never alone.

use crate::calibration::{additions_per_cycle, pinned};
use serde::Serialize;
use std::collections::BTreeMap;

/// A reading below this share of the core's best is one with a busy neighbor. Without a neighbor,
/// readings differ by a few percent.
const BUSY_BELOW: f64 = 0.85;
/// The best is the reading that this many percent of a core's readings do not exceed.
const BEST_PERCENT: usize = 95;
/// At least this share of the readings must be busy ones.
const FEWEST_BUSY: f64 = 0.05;
/// Fewer readings of a core tell nothing about its best.
const FEWEST_READINGS: usize = 4;
/// More CPUs are not read at a time: a reading of one takes 0.1 ms.
const MOST_CPUS: usize = 16;

/// Independent additions per cycle of a CPU at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    cpu: usize,
    additions_per_cycle: f64,
}

/// Reads the CPUs, one after another. Leaves out CPUs on which this process may not run.
pub fn widths(cpus: &[usize]) -> Vec<Width> {
    let cpus = cpus.iter().take(MOST_CPUS);
    let width = |&cpu: &usize| {
        let read = pinned::on(cpu, || Ok(additions_per_cycle()));
        read.ok().map(|additions_per_cycle| Width {
            cpu,
            additions_per_cycle,
        })
    };
    cpus.filter_map(width).collect()
}

/// What neighbors did during several readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Neighbors {
    /// Share of the readings with a busy neighbor, from 0 to 1.
    pub busy_share: f64,
    /// Median of those readings, as a share of their core's best.
    pub speed_beside: f64,
}

impl Neighbors {
    /// Returns what these readings show; `None` without signs of neighbors. Each CPU is compared
    /// with itself, because cores of a machine may differ.
    pub fn of(widths: &[Width]) -> Option<Neighbors> {
        let mut by_cpu: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for width in widths {
            let of_cpu = by_cpu.entry(width.cpu).or_default();
            of_cpu.push(width.additions_per_cycle);
        }
        by_cpu.retain(|_, of_cpu| of_cpu.len() >= FEWEST_READINGS);
        let mut shares: Vec<f64> = by_cpu.into_values().flat_map(shares_of_best).collect();
        shares.sort_by(f64::total_cmp);
        let busy = &shares[..shares.partition_point(|&share| share < BUSY_BELOW)];
        let busy_share = busy.len() as f64 / shares.len().max(1) as f64;
        (busy_share >= FEWEST_BUSY).then(|| Neighbors {
            busy_share,
            speed_beside: busy[busy.len() / 2],
        })
    }
}

impl std::fmt::Display for Neighbors {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| (share * 100.0).round();
        write!(
            to,
            "in {} % of the readings, the cores did {} % of their additions per cycle: their \
             other hardware threads, and so their L2, were in use, most likely by another virtual \
             machine",
            percent(self.busy_share),
            percent(self.speed_beside)
        )
    }
}

/// Returns the readings of a CPU, at least one, as shares of its best.
fn shares_of_best(mut of_cpu: Vec<f64>) -> impl Iterator<Item = f64> {
    of_cpu.sort_by(f64::total_cmp);
    let best = of_cpu[(of_cpu.len() - 1) * BEST_PERCENT / 100];
    of_cpu.into_iter().map(move |width| width / best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_support::topology::allowed;

    fn readings(of: &[(usize, f64)]) -> Vec<Width> {
        let width = |&(cpu, additions_per_cycle)| Width {
            cpu,
            additions_per_cycle,
        };
        of.iter().map(width).collect()
    }

    #[test]
    fn cores_that_differ_from_each_other_but_not_from_themselves_have_no_neighbors() {
        let two = [3.9, 2.0, 3.8, 2.1, 3.7, 2.0, 3.9, 2.0];
        let two: Vec<_> = (0..).map(|at| at % 2).zip(two).collect();
        assert_eq!(Neighbors::of(&readings(&two)), None);
        assert_eq!(Neighbors::of(&[]), None);
        assert_eq!(
            Neighbors::of(&readings(&[(0, 4.0), (0, 2.0), (0, 2.0)])),
            None
        );
    }

    #[test]
    fn a_core_that_is_half_as_wide_in_a_quarter_of_the_readings_has_a_neighbor() {
        let one = [(0, 4.0), (0, 2.0), (0, 4.0), (0, 4.0)];
        let found = Neighbors::of(&readings(&one)).unwrap();
        let expected = Neighbors {
            busy_share: 0.25,
            speed_beside: 0.5,
        };
        assert_eq!(found, expected);
        let said = found.to_string();
        assert!(said.contains("25 %") && said.contains("50 %"), "{said}");
    }

    #[test]
    fn rare_slow_readings_are_no_neighbor() {
        let mut all = vec![(0, 4.0); 99];
        all.push((0, 1.0));
        assert_eq!(Neighbors::of(&readings(&all)), None);
    }

    #[test]
    fn every_allowed_cpu_adds_at_least_once_a_cycle() {
        let cpus = allowed();
        let found = widths(&cpus);
        let of: Vec<usize> = found.iter().map(|width| width.cpu).collect();
        assert_eq!(of, cpus[..cpus.len().min(MOST_CPUS)]);
        for width in found {
            assert!(width.additions_per_cycle.is_finite() && width.additions_per_cycle > 0.0);
        }
    }
}
