//! `steal-random`: work stealing from a random core.
//!
//! The baseline for `steal`: an idle core takes a waiting thread of a random busy core with a
//! non-empty queue.

use super::entry::{Entry, Setup, Standing};
use super::queues::Queues;
use super::scheduler::Scheduler;
use super::steal::STREAM;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(super) static ENTRY: Entry = Entry {
    name: "steal-random",
    summary: "idle cores take waiting threads of random busy ones",
    standing: Standing::WhatIf,
    goes_by_plan: false,
    argument: None,
    build,
};

struct StealRandom {
    cores: usize,
    random: ChaCha8Rng,
}

fn build(setup: &Setup<'_>) -> Box<dyn Scheduler> {
    let mut random = ChaCha8Rng::seed_from_u64(setup.seed);
    random.set_stream(STREAM);
    Box::new(StealRandom {
        cores: setup.cores,
        random,
    })
}

impl Scheduler for StealRandom {
    fn first_core(&self, connection: usize) -> usize {
        connection % self.cores
    }

    fn may_take(&self, _core: usize, _from: usize) -> bool {
        true
    }

    fn victim(&mut self, _core: usize, candidates: &[usize], _queues: &Queues) -> usize {
        candidates[self.random.random_range(0..candidates.len() as u64) as usize]
    }
}
