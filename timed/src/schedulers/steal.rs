//! `steal`: locality-aware work stealing.
//!
//! A thread wakes where it ran, and an idle core takes threads that wait for busy ones from as near
//! as possible: a random one of the non-empty queues at the lowest level of the tree of cores that
//! has any. It is the victim selection of Barghi ("Improving the performance of user-level runtime
//! systems for concurrent applications", 2018, section 5.3.2), in his variant LAS/A, without its
//! retries: the lengths of queues are known here. Machine files say which cores share an L2, and
//! nothing of L3 groups and NUMA nodes. So above the L2s the tree is made of the numbers: L2s in
//! pairs, pairs of pairs, and so on, as neighbours are numbered on most machines.

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::Scheduler;
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

/// The stream of the seed's numbers that victims are drawn from; no load uses it.
pub(super) const STREAM: u64 = u64::MAX;

struct Steal {
    cores: usize,
    cores_per_l2: usize,
    random: ChaCha8Rng,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let mut random = ChaCha8Rng::seed_from_u64(setup.seed);
    random.set_stream(STREAM);
    Box::new(Steal {
        cores: setup.cores,
        cores_per_l2: setup.cores_per_l2,
        random,
    })
}

impl Steal {
    /// How far up the tree two cores meet: 0 behind the same L2.
    fn level(&self, one: usize, other: usize) -> u32 {
        let between = (one / self.cores_per_l2) ^ (other / self.cores_per_l2);
        usize::BITS - between.leading_zeros()
    }
}

impl Scheduler for Steal {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.cores
    }

    fn may_take(&self, _core: usize, _from: usize) -> bool {
        true
    }

    fn victim(&mut self, core: usize, candidates: &[usize], _queues: &Queues) -> usize {
        let level = |&from: &usize| self.level(core, from);
        let nearest = candidates.iter().map(level).min();
        let near = candidates
            .iter()
            .filter(|from| Some(level(from)) == nearest);
        let near: Vec<usize> = near.copied().collect();
        near[self.random.random_range(0..near.len() as u64) as usize]
    }
}
