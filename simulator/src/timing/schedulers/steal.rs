//! `steal`: locality-aware work stealing.
//!
//! A thread wakes where it last ran. An idle core takes a waiting thread from the nearest busy
//! core: from a random non-empty queue at the lowest level of the tree of cores that has any. This
//! is the victim selection of Barghi ("Improving the performance of user-level runtime systems for
//! concurrent applications", 2018, section 5.3.2) in the variant LAS/A, without its retries,
//! because queue lengths are known here. The tree is the machine's topology from its machine file:
//! L2s, L3 groups and NUMA nodes, and the distances between nodes ([`crate::Machine::distance`]).

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::Scheduler;
use crate::Distance;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(super) static ENTRY: Entry = Entry {
    name: "steal",
    summary: "idle cores take waiting threads of the nearest busy ones",
    standing: Standing::WhatIf,
    goes_by_plan: false,
    argument: None,
    build,
};

/// The stream of the seed's random numbers for victims; no load uses it.
pub(super) const STREAM: u64 = u64::MAX;

struct Steal {
    /// Indexed by the two cores.
    distances: Vec<Vec<Distance>>,
    random: ChaCha8Rng,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let mut random = ChaCha8Rng::seed_from_u64(setup.seed);
    random.set_stream(STREAM);
    let cores = 0..setup.cores as u32;
    let from = |core| {
        let others = cores.clone();
        others
            .map(|other| setup.machine.distance(core, other))
            .collect()
    };
    Box::new(Steal {
        distances: cores.clone().map(from).collect(),
        random,
    })
}

impl Scheduler for Steal {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.distances.len()
    }

    fn may_take(&self, _core: usize, _from: usize) -> bool {
        true
    }

    fn victim(&mut self, core: usize, candidates: &[usize], _queues: &Queues) -> usize {
        let distance = |&from: &usize| self.distances[core][from];
        let nearest = candidates.iter().map(distance).min();
        let near = candidates
            .iter()
            .filter(|from| Some(distance(from)) == nearest);
        let near: Vec<usize> = near.copied().collect();
        near[self.random.random_range(0..near.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, Split};
    use std::path::Path;

    /// Two L3 groups of two nodes with two cores each. Of the second group's nodes, the second is
    /// nearer to the first node than the first is.
    const MACHINE: &str = "\
name = \"two\"
cores = 8
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 1000
l1i = { size_bytes = 1024, ways = 2, latency_cycles = 4 }
l1d = { size_bytes = 1024, ways = 2, latency_cycles = 4 }
l2 = { size_bytes = 4096, ways = 4, latency_cycles = 12 }
[topology]
cores_per_l3 = 4
cores_per_node = 2
node_distances = [[10, 12, 22, 21], [12, 10, 22, 22], [22, 22, 10, 12], [21, 22, 12, 10]]
";

    /// The cores in `candidates` that core 0 takes from in many tries.
    fn taken_of(candidates: &[usize]) -> Vec<usize> {
        let machine = Machine::from_toml(MACHINE, Path::new("two.toml")).unwrap();
        let mut scheduler = build(&Setup {
            cores: 8,
            machine: &machine,
            split: &Split::default(),
            load: &Vec::new,
            argument: 0,
            seed: 1,
        });
        let queues = Queues::new(8);
        let mut taken: Vec<usize> = (0..64)
            .map(|_| scheduler.victim(0, candidates, &queues))
            .collect();
        taken.sort_unstable();
        taken.dedup();
        taken
    }

    #[test]
    fn victims_are_looked_for_up_the_tree_and_in_the_nearer_node_first() {
        assert_eq!(taken_of(&[1, 2, 3, 4, 5, 6, 7]), [1], "the same node");
        assert_eq!(taken_of(&[2, 3, 4, 5, 6, 7]), [2, 3], "the same L3");
        assert_eq!(taken_of(&[4, 5, 6, 7]), [6, 7], "the nearer of two nodes");
        assert_eq!(taken_of(&[4, 5]), [4, 5]);
        assert_eq!(taken_of(&[3, 5, 7]), [3]);
    }
}
