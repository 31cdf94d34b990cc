//! Costs of sets of occurrences on the lines of each set partition.
//!
//! Different sets agree on most set partitions: only occurrences that access lines of a set
//! partition matter there. So each set partition has its own keys and costs. Each is simulated on
//! one host thread, on one machine after the other.

use super::calls::Intervals;
use super::core_set::{GROUPS, UNKNOWN};
use super::keys::{ByKey, Key, Prefixes};
use super::term::Term;
use corehop_simulator::PrivateReplay;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// All set partitions of a machine; empty if cores share an L2.
#[derive(Default)]
pub(super) struct SetPartitions(Vec<SetPartition>);

struct SetPartition {
    prefixes: Prefixes,
    known: ByKey<u64>,
}

impl SetPartitions {
    /// Returns set partitions without known costs.
    pub fn of(private_replay: &PrivateReplay) -> SetPartitions {
        let set_partition = |set_partition| SetPartition {
            prefixes: Prefixes::of(private_replay.referenced(set_partition).iter().copied()),
            known: HashMap::from_iter([(0, 0)]),
        };
        SetPartitions(
            (0..private_replay.set_partitions())
                .map(set_partition)
                .collect(),
        )
    }

    /// Returns the number of simulations so far.
    pub fn simulations(&self) -> usize {
        self.0
            .iter()
            .map(|set_partition| set_partition.known.len() - 1)
            .sum()
    }

    /// Returns the known costs, by set partition.
    pub fn known(&self) -> Vec<Vec<(Key, u64)>> {
        let of_set_partition = |set_partition: &SetPartition| {
            let known = set_partition.known.iter();
            known.map(|(&key, &misses)| (key, misses)).collect()
        };
        self.0.iter().map(of_set_partition).collect()
    }

    /// Adds known costs.
    pub fn learn(&mut self, known: Vec<Vec<(Key, u64)>>) {
        let set_partitions = self.0.iter_mut().zip(known);
        set_partitions.for_each(|(set_partition, known)| set_partition.known.extend(known));
    }

    /// Returns, by group, the cost of a core for each of `sets`; unknown in the other groups.
    pub fn simulate(
        &mut self,
        terms: &[Term],
        sets: &[Intervals],
        groups: &Range<usize>,
    ) -> Vec<[u64; GROUPS]> {
        let runs: Vec<Vec<bool>> = sets
            .iter()
            .map(|set| runs(&terms[0].private_replay, set))
            .collect();
        let simulate = |(index, set_partition): (usize, &mut SetPartition)| -> (usize, Vec<u64>) {
            let misses = |(set, runs): (&Intervals, &Vec<bool>)| {
                let key = set_partition.prefixes.key(&set.runs);
                let known = set_partition.known.entry(key);
                let cost = |term: &Term| term.cost_of(index, runs);
                *known.or_insert_with(|| terms.iter().map(cost).sum())
            };
            let misses = sets.iter().zip(&runs).map(misses);
            (index % GROUPS, misses.collect())
        };
        let set_partitions = self.0.iter_mut().enumerate();
        let set_partitions = set_partitions.filter(|(index, _)| groups.contains(&(index % GROUPS)));
        let set_partitions: Vec<(usize, &mut SetPartition)> = set_partitions.collect();
        let set_partitions = set_partitions.into_par_iter().with_max_len(1);
        let by_set_partition: Vec<(usize, Vec<u64>)> = set_partitions.map(simulate).collect();
        let mut learnt = vec![[UNKNOWN; GROUPS]; sets.len()];
        for misses in &mut learnt {
            misses[groups.clone()].fill(0);
        }
        for (group, misses) in by_set_partition {
            let sums = learnt.iter_mut().zip(misses);
            sums.for_each(|(sums, misses)| sums[group] += misses);
        }
        learnt
    }
}

fn runs(private_replay: &PrivateReplay, set: &Intervals) -> Vec<bool> {
    let mut runs = vec![false; private_replay.occurrences().len()];
    for &(begin, end) in &set.runs {
        runs[begin as usize..end as usize].fill(true);
    }
    runs
}
