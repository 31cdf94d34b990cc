//! Lower bounds on what sets of occurrences cost, known without simulating them.
//!
//! Some misses are ones that no cache of that size avoids ([`LowerBound`]). Counting them takes a
//! hundredth of a simulation, so a search can ask for far more sets than it can simulate, and
//! simulates only those worth it. A fetch that no private cache serves costs a miss of the L1 and
//! one of the L2, and so does such a load or store. Misses for want of room are counted without
//! their kinds, so they cost what the cheapest kind does, of those that cost anything.

use super::calls::Intervals;
use super::core_set::{GROUPS, PlacedSet};
use super::keys::{ByKey, Key};
use super::term::Term;

use corehop_simulator::{LANES, LowerBound, PrivateReplay};
use rayon::prelude::*;
use std::collections::HashSet;

/// What is known of that.
#[derive(Default)]
pub(super) struct LowerBounds {
    /// Of each term, once it was asked for.
    bounds: Vec<LowerBound>,
    known: ByKey<[u64; GROUPS]>,
}

impl LowerBounds {
    /// By group, what a set misses at least; nothing where nothing was learnt.
    pub fn of(&self, set: Key) -> [u64; GROUPS] {
        self.known.get(&set).copied().unwrap_or_default()
    }

    /// Those of `sets` of which nothing is known, each once.
    pub fn unknown<'s>(&self, sets: impl Iterator<Item = &'s PlacedSet<'s>>) -> Vec<PlacedSet<'s>> {
        let mut met = HashSet::new();
        let is_new =
            |(set, ..): &&PlacedSet<'_>| !self.known.contains_key(&set.0) && met.insert(set.0);
        sets.filter(is_new).copied().collect()
    }

    /// Counts what `sets` cost, which run so.
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

/// By occurrence, on which of these cores it runs.
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
