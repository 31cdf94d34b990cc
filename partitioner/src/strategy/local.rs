//! Local search: one exchange at a time, from a greedy start and from random ones.
//!
//! The greedy start is the best single function, then the function that helps most beside it, until
//! there is one a core. From each start the best of all exchanges of one function is taken for as
//! long as it helps. It proves nothing; on recorded servers it mostly ends where branch and bound
//! ends, which starts from it. Simulated annealing was rejected: it evaluates far more splits, of
//! which each costs simulations, for a result that is no better here.

use super::{Explore, Run};
use crate::evaluate::Choice;
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;

pub(super) struct Local;

/// Random splits it starts from, besides the greedy one.
const RESTARTS: usize = 8;

impl Explore for Local {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let (functions, cores) = (run.functions(), run.cores());
        let mut random = ChaCha8Rng::seed_from_u64(run.search.seed);
        let mut starts = vec![greedy(run)];
        for _ in 0..RESTARTS {
            starts.push(drawn(&mut random, functions, cores));
        }
        for start in starts {
            if run.is_over() {
                break;
            }
            let Some(mut current) = run.offer(vec![start]) else {
                break;
            };
            while !run.is_over() {
                let neighbours = exchanges(&current.1, functions);
                match run.offer(neighbours) {
                    Some(better) if better.0 < current.0 => current = better,
                    _ => break,
                }
            }
        }
        run.evaluator.floor()
    }
}

/// A split drawn at random.
pub(super) fn drawn(random: &mut ChaCha8Rng, functions: u32, cores: u32) -> Choice {
    let drawn = sample(random, functions as usize, cores as usize);
    let mut split: Choice = drawn.iter().map(|function| function as u32).collect();
    split.sort_unstable();
    split
}

fn greedy(run: &mut Run<'_, '_>) -> Choice {
    let search = *run.search;
    let mut greedy = Choice::new();
    for _ in 0..run.cores() {
        let others = (0..run.functions()).filter(|function| !greedy.contains(function));
        let longer: Vec<Choice> = others.map(|function| with(&greedy, function)).collect();
        let misses = run.evaluator.evaluate_until(&longer, &|| search.is_over());
        // Of those that time was too short for, the first: some split there must be.
        let misses = misses.into_iter().map(|misses| misses.unwrap_or(u64::MAX));
        let best = misses.zip(longer).min();
        greedy = best.expect("more functions than cores").1;
    }
    greedy
}

fn with(split: &Choice, function: u32) -> Choice {
    let mut longer = split.clone();
    longer.insert(longer.partition_point(|&f| f < function), function);
    longer
}

/// Every split that differs from `split` in one function.
fn exchanges(split: &Choice, functions: u32) -> Vec<Choice> {
    let mut exchanges = Vec::new();
    for place in 0..split.len() {
        let mut left = split.clone();
        left.remove(place);
        let others = (0..functions).filter(|function| !split.contains(function));
        exchanges.extend(others.map(|function| with(&left, function)));
    }
    exchanges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_changes_exactly_one_function() {
        let neighbours = exchanges(&vec![1, 3], 5);
        assert_eq!(neighbours.len(), 6);
        let kept = |split: &Choice| split.iter().filter(|f| [1, 3].contains(f)).count();
        assert!(neighbours.iter().all(|split| kept(split) == 1));
    }
}
