//! Lower bounds on the costs of sets of occurrences, without simulation.
//!
//! No cache of the given size can avoid some misses ([`LowerBound`]). Counting them takes a
//! hundredth of a simulation. So a search can request bounds of far more sets than it can simulate,
//! and simulates only promising ones. A fetch that misses all private caches costs an L1 miss and
//! an L2 miss, and so does such a load or store. Capacity misses are counted without their kinds,
//! so each costs as much as the cheapest kind that is not free.

use super::calls::Intervals;
use super::core_set::{GROUPS, PlacedSet};
use super::keys::{ByKey, Key};
use super::term::Term;

use corehop_simulator::{LANES, LowerBound, PrivateReplay};
use rayon::prelude::*;
use std::collections::HashSet;

/// The known lower bounds.
#[derive(Default)]
pub(super) struct LowerBounds {
    /// By term, created at the first request.
    bounds: Vec<LowerBound>,
    known: ByKey<[u64; GROUPS]>,
}

impl LowerBounds {
    /// Returns, by group, the minimum cost of a set; zeros if it is unknown.
    pub fn of(&self, set: Key) -> [u64; GROUPS] {
        self.known.get(&set).copied().unwrap_or_default()
    }

    /// Returns the distinct members of `sets` without known bounds.
    pub fn unknown<'s>(&self, sets: impl Iterator<Item = &'s PlacedSet<'s>>) -> Vec<PlacedSet<'s>> {
        let mut met = HashSet::new();
        let is_new =
            |(set, ..): &&PlacedSet<'_>| !self.known.contains_key(&set.0) && met.insert(set.0);
        sets.filter(is_new).copied().collect()
    }

    /// Counts the bounds of `sets`, which run in these `intervals`.
    pub fn learn(&mut self, terms: &[Term], sets: &[PlacedSet<'_>], intervals: &[Intervals]) {
        if self.bounds.is_empty() {
            let of_term = |term: &Term| LowerBound::new(&term.private_replay);
            self.bounds = terms.iter().map(of_term).collect();
        }
        let count = |intervals: &[Intervals]| {
            let runs = runs(&terms[0].private_replay, intervals);
            let mut sums = vec![[0; GROUPS]; intervals.len()];
            for (sums, of) in sums.iter_mut().zip(intervals) {
                sums[0] += Term::cost_of_hops(terms, of.hops);
            }
            for (term, bounds) in terms.iter().zip(&self.bounds) {
                let [fetch, data] = term.cost.of_missed().map(|cost| cost * term.factor);
                let room = [fetch, data].into_iter().filter(|&cost| cost > 0).min();
                for set_partition in 0..term.private_replay.set_partitions() {
                    let counted = [fetch > 0, data > 0];
                    let misses = bounds.misses(set_partition, &runs, counted);
                    for (lane, sums) in sums.iter_mut().enumerate() {
                        sums[set_partition % GROUPS] += fetch * misses[0][lane]
                            + data * misses[1][lane]
                            + room.unwrap_or(0) * misses[2][lane];
                    }
                }
            }
            sums
        };
        let counted = intervals.par_chunks(LANES).flat_map_iter(count);
        let counted: Vec<[u64; GROUPS]> = counted.collect();
        let sets = sets.iter().map(|(set, ..)| set.0);
        self.known.extend(sets.zip(counted));
    }
}

/// Returns, by occurrence, a bit mask of the cores on which it runs.
fn runs(private_replay: &PrivateReplay, cores: &[Intervals]) -> Vec<u64> {
    let mut runs = vec![0; private_replay.occurrences().len()];
    for (core, intervals) in cores.iter().enumerate() {
        for &(begin, end) in &intervals.runs {
            let runs = &mut runs[begin as usize..end as usize];
            runs.iter_mut().for_each(|lanes| *lanes |= 1 << core);
        }
    }
    runs
}
