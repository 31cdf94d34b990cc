//! What sets of occurrences cost at least, without simulating them.
//!
//! Some misses no cache of its size avoids ([`Unavoidable`]). Counting them takes a hundredth of a
//! simulation, so a search can ask for far more sets than it can simulate, and simulate only those
//! worth it. A fetch that no private cache serves costs a miss of the L1 and one of the L2, and
//! such a load or store. Of those missed for want of room nobody knows which they are: they cost
//! what the cheapest kind does, of those that cost anything.

use super::keys::{ByKey, Key};
use super::{GROUPS, Placed, Term};
use crate::evaluate::calls::Intervals;
use corehop_simulator::{Alone, LANES, Unavoidable};
use rayon::prelude::*;
use std::collections::HashSet;

/// What is known of that.
#[derive(Default)]
pub(super) struct Least {
    /// Of each term, once it was asked for.
    unavoidable: Vec<Unavoidable>,
    known: ByKey<[u64; GROUPS]>,
}

impl Least {
    /// By group, what a set misses at least; nothing where nothing was learnt.
    pub fn of(&self, set: Key) -> [u64; GROUPS] {
        self.known.get(&set).copied().unwrap_or_default()
    }

    /// Those of `sets` of which nothing is known, each once.
    pub fn unknown<'s>(&self, sets: impl Iterator<Item = &'s Placed<'s>>) -> Vec<Placed<'s>> {
        let mut met = HashSet::new();
        let is_new =
            |(set, ..): &&Placed<'_>| !self.known.contains_key(&set.0) && met.insert(set.0);
        sets.filter(is_new).copied().collect()
    }

    /// Counts what `sets` cost, which run so.
    pub fn learn(&mut self, terms: &[Term], sets: &[Placed<'_>], intervals: &[Intervals]) {
        if self.unavoidable.is_empty() {
            let of_term = |term: &Term| Unavoidable::new(&term.alone);
            self.unavoidable = terms.iter().map(of_term).collect();
        }
        let count = |intervals: &[Intervals]| {
            let runs = runs(&terms[0].alone, intervals);
            let mut sums = vec![[0; GROUPS]; intervals.len()];
            for (sums, of) in sums.iter_mut().zip(intervals) {
                sums[0] += Term::cost_of_hops(terms, of.hops);
            }
            for (term, unavoidable) in terms.iter().zip(&self.unavoidable) {
                let [fetch, data] = term.cost.of_missed().map(|cost| cost * term.factor);
                let room = [fetch, data].into_iter().filter(|&cost| cost > 0).min();
                for residue in 0..term.alone.residues() {
                    let counted = [fetch > 0, data > 0];
                    let misses = unavoidable.misses(residue, &runs, counted);
                    for (lane, sums) in sums.iter_mut().enumerate() {
                        sums[residue % GROUPS] += fetch * misses[0][lane]
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
fn runs(alone: &Alone, cores: &[Intervals]) -> Vec<u64> {
    let mut runs = vec![0; alone.occurrences().len()];
    for (core, intervals) in cores.iter().enumerate() {
        for &(begin, end) in &intervals.runs {
            let runs = &mut runs[begin as usize..end as usize];
            runs.iter_mut().for_each(|lanes| *lanes |= 1 << core);
        }
    }
    runs
}
