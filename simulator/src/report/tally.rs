//! Tallies: the misses, transfers and invalidations that a hierarchy counts while it runs.
//!
//! A tally holds only what cannot be derived. The caller counts accesses, often without replaying
//! them; [`Tally::counters`] combines both. Tallies of several hierarchies can be added.

use super::counters::{Counters, KindCounters, LevelCounters, MissCauses};
use super::observer::{CacheLevel, Cause};
use crate::machine::Machine;
use corehop_traces::Kind;
use std::ops::AddAssign;

/// The counts of one core's accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Misses by level (both L1s share an index, because the kind distinguishes them), kind and
    /// cause.
    misses: [[[u64; 4]; 3]; 3],
    /// Accesses that caches above another L2 served, by kind.
    pub transfers: [u64; 3],
    /// Accesses that the L3 served while another cluster had the line modified, by kind.
    pub hit_modified: [u64; 3],
    /// Number of times this core's cluster lost a line to another cluster's store; counted for the
    /// first core of the cluster.
    pub invalidated_lines: u64,
    /// Loads of page walks that begin at the L2. They are L2 accesses in addition to the L1 misses.
    pub l2_loads: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn count(&mut self, level: CacheLevel, kind: Kind, cause: Cause) {
        self.misses[row(level)][kind as usize][cause as usize] += 1;
    }

    /// Returns the misses of one kind at one level; zero for fetches in an L1D or data in an L1I.
    pub fn misses(&self, level: CacheLevel, kind: Kind) -> MissCauses {
        let elsewhere = match level {
            CacheLevel::L1I => kind != Kind::Fetch,
            CacheLevel::L1D => kind == Kind::Fetch,
            CacheLevel::L2 | CacheLevel::L3 => false,
        };
        if elsewhere {
            return MissCauses::default();
        }
        let [cold, capacity, coherence, inclusion] = self.misses[row(level)][kind as usize];
        MissCauses {
            cold,
            capacity,
            coherence,
            inclusion,
        }
    }

    /// Returns the loads that missed the L1D, the L2 and the L3.
    pub(crate) fn load_misses(&self) -> [u64; 3] {
        [CacheLevel::L1D, CacheLevel::L2, CacheLevel::L3]
            .map(|level| self.misses(level, Kind::Load).total())
    }

    /// Returns the counters of a core that made these `accesses`, by kind, and to which threads
    /// hopped `hops` times. Each level's accesses are the misses of the level above.
    pub fn counters(&self, accesses: [u64; 3], hops: u64, machine: &Machine) -> Counters {
        let kinds = [Kind::Fetch, Kind::Load, Kind::Store];
        let level = |accesses: [u64; 3], level: CacheLevel| {
            let [fetch, load, store] = kinds.map(|kind| KindCounters {
                accesses: accesses[kind as usize],
                misses: self.misses(level, kind),
            });
            LevelCounters { fetch, load, store }
        };
        let missed = |of: LevelCounters| [of.fetch, of.load, of.store].map(|k| k.misses.total());
        let [fetches, loads, stores] = accesses;
        let l1i = level([fetches, 0, 0], CacheLevel::L1I);
        let l1d = level([0, loads, stores], CacheLevel::L1D);
        let [_, load_misses, store_misses] = missed(l1d);
        let l2 = level(
            [missed(l1i)[0], load_misses + self.l2_loads, store_misses],
            CacheLevel::L2,
        );
        let l3 = match machine.l3 {
            Some(_) => level(missed(l2), CacheLevel::L3),
            None => LevelCounters::default(),
        };
        let mut counters = Counters {
            l1i,
            l1d,
            l2,
            l3,
            transfers: self.transfers.iter().sum(),
            hit_modified: self.hit_modified.iter().sum(),
            invalidated_lines: self.invalidated_lines,
            cycles: 0,
        };
        counters.cycles = counters.cycles_on(machine, hops);
        counters
    }
}

fn row(level: CacheLevel) -> usize {
    match level {
        CacheLevel::L1I | CacheLevel::L1D => 0,
        CacheLevel::L2 => 1,
        CacheLevel::L3 => 2,
    }
}

impl AddAssign<&Tally> for Tally {
    fn add_assign(&mut self, other: &Tally) {
        let theirs = other.misses.as_flattened().as_flattened();
        let ours = self.misses.as_flattened_mut().as_flattened_mut();
        for (count, more) in ours.iter_mut().zip(theirs) {
            *count += more;
        }
        for (count, more) in self.transfers.iter_mut().zip(other.transfers) {
            *count += more;
        }
        for (count, more) in self.hit_modified.iter_mut().zip(other.hit_modified) {
            *count += more;
        }
        self.invalidated_lines += other.invalidated_lines;
        self.l2_loads += other.l2_loads;
    }
}
