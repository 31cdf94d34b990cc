//! What sets of occurrences miss at least, without simulating them.
//!
//! First touches and lines that other cores stored to are missed whatever the caches are
//! ([`corehop_simulator::Unavoidable`]). Counting them takes a hundredth of a simulation, so a
//! search can ask for far more sets than it can simulate, and simulate only those worth it.

use super::keys::{ByKey, Key};
use super::{GROUPS, Placed};
use crate::evaluate::calls::Intervals;
use corehop_simulator::{Alone, LANES, Unavoidable};
use rayon::prelude::*;
use std::collections::HashSet;

/// What is known of that.
#[derive(Default)]
pub(super) struct Least {
    /// Once it was asked for.
    unavoidable: Option<Unavoidable>,
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

    /// Counts what `sets` miss, which run so.
    pub fn learn(&mut self, alone: &Alone, sets: &[Placed<'_>], intervals: &[Intervals]) {
        let unavoidable = self
            .unavoidable
            .get_or_insert_with(|| Unavoidable::new(alone));
        let count = |intervals: &[Intervals]| {
            let runs = runs(alone, intervals);
            let mut sums = vec![[0; GROUPS]; intervals.len()];
            for residue in 0..alone.residues() {
                for of_kind in unavoidable.misses(residue, &runs, [true; 2]) {
                    let sums = sums.iter_mut().zip(of_kind);
                    sums.for_each(|(sums, misses)| sums[residue % GROUPS] += misses);
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
        for &(begin, end) in intervals {
            let runs = &mut runs[begin as usize..end as usize];
            runs.iter_mut().for_each(|lanes| *lanes |= 1 << core);
        }
    }
    runs
}
