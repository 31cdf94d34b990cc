//! What sets of occurrences cost on the lines of each residue.
//!
//! Sets that differ share most residues: only occurrences that touch lines of a residue matter
//! there. So each residue remembers by its own keys, and each is simulated on one host thread, on
//! one machine after the other.

use super::calls::Intervals;
use super::keys::{ByKey, Key, Prefixes};
use super::{GROUPS, Term, UNKNOWN};
use corehop_simulator::Alone;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// All residues of a machine, none where no core is alone.
#[derive(Default)]
pub(super) struct Residues(Vec<Residue>);

struct Residue {
    prefixes: Prefixes,
    known: ByKey<u64>,
}

impl Residues {
    /// Of which nothing is known.
    pub fn of(alone: &Alone) -> Residues {
        let residue = |residue| Residue {
            prefixes: Prefixes::of(alone.touched(residue).iter().copied()),
            known: HashMap::from_iter([(0, 0)]),
        };
        Residues((0..alone.residues()).map(residue).collect())
    }

    /// Number of simulations so far.
    pub fn simulations(&self) -> usize {
        self.0.iter().map(|residue| residue.known.len() - 1).sum()
    }

    /// What is known, by residue.
    pub fn known(&self) -> Vec<Vec<(Key, u64)>> {
        let of_residue = |residue: &Residue| {
            let known = residue.known.iter();
            known.map(|(&key, &misses)| (key, misses)).collect()
        };
        self.0.iter().map(of_residue).collect()
    }

    /// Adds what was known before.
    pub fn learn(&mut self, known: Vec<Vec<(Key, u64)>>) {
        let residues = self.0.iter_mut().zip(known);
        residues.for_each(|(residue, known)| residue.known.extend(known));
    }

    /// What a core costs on which each of `sets` runs, by group; unknown in other groups.
    pub fn simulate(
        &mut self,
        terms: &[Term],
        sets: &[Intervals],
        groups: &Range<usize>,
    ) -> Vec<[u64; GROUPS]> {
        let runs: Vec<Vec<bool>> = sets.iter().map(|set| runs(&terms[0].alone, set)).collect();
        let simulate = |(index, residue): (usize, &mut Residue)| -> (usize, Vec<u64>) {
            let misses = |(set, runs): (&Intervals, &Vec<bool>)| {
                let key = residue.prefixes.key(&set.runs);
                let known = residue.known.entry(key);
                let cost = |term: &Term| term.cost_of(index, runs);
                *known.or_insert_with(|| terms.iter().map(cost).sum())
            };
            let misses = sets.iter().zip(&runs).map(misses);
            (index % GROUPS, misses.collect())
        };
        let residues = self.0.iter_mut().enumerate();
        let residues = residues.filter(|(index, _)| groups.contains(&(index % GROUPS)));
        let residues: Vec<(usize, &mut Residue)> = residues.collect();
        let residues = residues.into_par_iter().with_max_len(1);
        let by_residue: Vec<(usize, Vec<u64>)> = residues.map(simulate).collect();
        let mut learnt = vec![[UNKNOWN; GROUPS]; sets.len()];
        for misses in &mut learnt {
            misses[groups.clone()].fill(0);
        }
        for (group, misses) in by_residue {
            let sums = learnt.iter_mut().zip(misses);
            sums.for_each(|(sums, misses)| sums[group] += misses);
        }
        learnt
    }
}

fn runs(alone: &Alone, set: &Intervals) -> Vec<bool> {
    let mut runs = vec![false; alone.occurrences().len()];
    for &(begin, end) in &set.runs {
        runs[begin as usize..end as usize].fill(true);
    }
    runs
}
