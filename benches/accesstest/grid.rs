//! Working sets around each level of a machine's caches, for each share of updates.

use crate::simulated::{Point, Rates, rates};
use corehop_simulator::Machine;
use corehop_simulator::timing::Error;
use rayon::prelude::*;

/// Shares of accesses that write, in percent; those of the thesis.
pub const UPDATES: [f64; 5] = [0.0, 0.1, 1.0, 10.0, 100.0];

/// A cache level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    L1d,
    L2,
    L3,
}

impl Level {
    pub const ALL: [Level; 3] = [Level::L1d, Level::L2, Level::L3];

    pub fn name(self) -> &'static str {
        match self {
            Level::L1d => "L1D",
            Level::L2 => "L2",
            Level::L3 => "L3",
        }
    }

    /// Returns the capacity of one instance; `None` if there is no such level.
    pub fn kib(self, machine: &Machine) -> Option<u64> {
        let level = match self {
            Level::L1d => machine.l1d,
            Level::L2 => machine.l2,
            Level::L3 => machine.l3?,
        };
        Some(level.size_bytes / 1024)
    }

    /// Sizes of working sets in eighths of the level, for the thesis's machine.
    fn eighths(self) -> &'static [u64] {
        match self {
            Level::L1d | Level::L2 => &[4, 6, 8, 10, 12, 14, 16, 20],
            Level::L3 => &[4, 8, 12],
        }
    }

    /// The same for native runs, each of which takes minutes.
    fn few_eighths(self) -> &'static [u64] {
        match self {
            Level::L1d => &[4, 8, 12, 16, 20],
            Level::L2 => &[8, 12, 16, 20],
            Level::L3 => &[4, 8],
        }
    }
}

/// Points, row by row: a working set with all shares of updates.
pub struct Grid {
    /// The level, its size in KiB, and the working set.
    pub rows: Vec<(Level, u64, u64)>,
    pub updates: &'static [f64],
}

impl Grid {
    /// Returns all working sets around these levels.
    pub fn whole(machine: &Machine, levels: &[Level]) -> Grid {
        Grid::of(machine, levels, Level::eighths, &UPDATES)
    }

    /// Returns the points that are measured.
    pub fn native(machine: &Machine) -> Grid {
        Grid::of(machine, &Level::ALL, Level::few_eighths, &UPDATES)
    }

    /// Returns one working set, without updates and with updates only.
    pub fn small(machine: &Machine) -> Grid {
        Grid::of(machine, &[Level::L1d], |_| &[12], &[0.0, 100.0])
    }

    fn of(
        machine: &Machine,
        levels: &[Level],
        eighths: fn(Level) -> &'static [u64],
        updates: &'static [f64],
    ) -> Grid {
        let sized = |&level: &Level| Some((level, level.kib(machine)?));
        let rows = levels.iter().filter_map(sized).flat_map(|(level, kib)| {
            let sets = eighths(level).iter();
            sets.map(move |eighths| (level, kib, kib * eighths / 8))
        });
        Grid {
            rows: rows.collect(),
            updates,
        }
    }

    pub fn points(&self) -> Vec<Point> {
        let row = |&(_, _, working_set_kib): &(Level, u64, u64)| {
            self.updates.iter().map(move |&updates_percent| Point {
                working_set_kib,
                updates_percent,
            })
        };
        self.rows.iter().flat_map(row).collect()
    }

    /// Simulates each point, in place and delegated.
    pub fn simulate(&self, machine: &Machine) -> Result<Vec<[Rates; 2]>, Error> {
        let points = self.points();
        points
            .par_iter()
            .map(|&point| rates(machine, point))
            .collect()
    }

    /// Selects the values at the points of this level that `is_of` accepts, by size in levels and
    /// updates.
    pub fn select<'a>(
        &'a self,
        of: &'a [f64],
        level: Level,
        is_of: impl Fn(f64, f64) -> bool + 'a,
    ) -> impl Iterator<Item = f64> + 'a {
        let width = self.updates.len();
        let rows = (0..).zip(&self.rows).filter(move |(_, row)| row.0 == level);
        let points = rows.flat_map(move |(row, &(_, kib, set))| {
            let places = (0..width).map(move |place| (row * width + place, place));
            places.map(move |(at, place)| (at, set as f64 / kib as f64, self.updates[place]))
        });
        points
            .filter(move |&(_, size, updates)| is_of(size, updates))
            .map(|(at, ..)| of[at])
    }
}
