//! Local search: one change at a time, from a greedy start and from random ones.
//!
//! The greedy start is the best single function, then the function that helps most in addition,
//! until each core has one. If cores have several, each further function is put on the core where
//! it helps most. From each start, the best change (another function, or another core for a
//! function) is made as long as one helps. This proves nothing. On recorded servers it mostly ends
//! at the optimum of branch and bound, which starts from it. Rejected: simulated annealing. It
//! evaluates far more splits, each of which costs simulations, and its results are no better here.

use super::run::{Explore, Run};
use super::space::canonical;
use crate::evaluate::IndexedPlacement;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub(super) struct Local;

/// Number of random starts in addition to the greedy one.
const RESTARTS: usize = 3;

impl Explore for Local {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let space = run.space;
        let mut random = ChaCha8Rng::seed_from_u64(run.search.seed);
        let mut starts = vec![greedy(run)];
        for _ in 0..RESTARTS {
            starts.push(space.drawn(&mut random));
        }
        for start in starts {
            if run.is_over() {
                break;
            }
            descend(start, run);
        }
        run.evaluator.lower_bound()
    }
}

/// Makes the best change repeatedly from `start`, as long as it helps.
pub(super) fn descend(start: IndexedPlacement, run: &mut Run<'_, '_>) {
    let Some(mut current) = run.offer(vec![start]) else {
        return;
    };
    while !run.is_over() {
        let neighbours = run.space.neighbours(&current.1);
        match run.offer(neighbours) {
            Some(better) if better.0 < current.0 => current = better,
            _ => break,
        }
    }
}

/// Adds one function after the other, each where it helps most.
pub(super) fn greedy(run: &mut Run<'_, '_>) -> IndexedPlacement {
    let search = *run.search;
    let mut greedy = IndexedPlacement::new();
    for chosen in 0..run.space.functions {
        let is_chosen = |function: u32| greedy.iter().any(|&(chosen, _)| chosen == function);
        let others = (0..run.space.candidates).filter(|&function| !is_chosen(function));
        let cores = match chosen < run.space.cores {
            true => chosen..chosen + 1,
            false => 0..run.space.cores,
        };
        let longer = others.flat_map(|function| {
            let greedy = &greedy;
            cores.clone().map(move |core| {
                canonical(greedy.iter().copied().chain([(function, core)]).collect())
            })
        });
        let longer: Vec<IndexedPlacement> = longer.collect();
        let misses = run.evaluator.evaluate_until(&longer, &|| search.is_over());
        // If time is over before any evaluation, use the first: there must be some split.
        let misses = misses.into_iter().map(|misses| misses.unwrap_or(u64::MAX));
        let best = misses.zip(longer).min();
        greedy = best.expect("more functions than cores").1;
    }
    greedy
}
