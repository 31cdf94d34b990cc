//! Which split to take: every one where that is feasible, else a local search with restarts.
//!
//! The number of splits of n functions over k cores is C(n, k). Up to [`EXHAUSTIVE_SPLITS`] of them
//! are all evaluated, and the best is the best there is (among splits that hop at these functions,
//! one a core, ranked by private L2 misses). Beyond that the search starts from the best single
//! function, adds the function that helps most until there is one a core, and then exchanges one
//! function at a time for as long as that helps; then again from random splits. Ties go to the
//! split that comes first in lexicographic order, so the result depends on the seed alone.

use crate::evaluate::{Choice, Evaluator};
use crate::progress::Progress;
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// More splits than this are not all tried.
pub const EXHAUSTIVE_SPLITS: u128 = 2_000_000;

/// Splits evaluated in one batch: enough to keep every host core busy, few enough that progress
/// shows and memory stays small.
const BATCH: usize = 1 << 12;

/// Random splits the local search starts from, besides the greedy one.
const RESTARTS: usize = 8;

/// How a search went about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every split was evaluated.
    Exhaustive,
    /// Greedy start and random restarts, one exchange at a time.
    LocalSearch,
}

/// Splits with their L2 misses, best first.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The best few, best first.
    pub best: Vec<(u64, Choice)>,
    /// Number of splits evaluated.
    pub evaluated: u64,
    /// How they were chosen.
    pub strategy: Strategy,
}

/// Number of ways to choose `chosen` of `all`, saturating.
pub fn combinations(all: u64, chosen: u64) -> u128 {
    (0..u128::from(chosen)).fold(1, |product: u128, i| {
        product.saturating_mul(u128::from(all).saturating_sub(i)) / (i + 1)
    })
}

/// Ranks splits of `functions` functions over `cores` cores; keeps the best `keep`.
pub fn search(
    evaluator: &mut Evaluator<'_>,
    (functions, cores): (u32, u32),
    seed: u64,
    keep: usize,
    progress: &dyn Progress,
) -> Ranking {
    let splits = combinations(functions.into(), cores.into());
    let mut top = Top {
        keep,
        best: BTreeSet::new(),
        evaluated: 0,
    };
    let strategy = if splits <= EXHAUSTIVE_SPLITS {
        progress.begin("splits", Some(splits as u64));
        exhaustive(evaluator, (functions, cores), &mut top, progress);
        Strategy::Exhaustive
    } else {
        progress.begin("splits", None);
        local(evaluator, (functions, cores), seed, &mut top, progress);
        Strategy::LocalSearch
    };
    progress.end();
    Ranking {
        best: top.best.into_iter().collect(),
        evaluated: top.evaluated,
        strategy,
    }
}

/// The best splits so far.
struct Top {
    keep: usize,
    best: BTreeSet<(u64, Choice)>,
    evaluated: u64,
}

impl Top {
    /// Evaluates `splits`, remembers the best, and gives the best of these.
    fn offer(
        &mut self,
        evaluator: &mut Evaluator<'_>,
        splits: Vec<Choice>,
        progress: &dyn Progress,
    ) -> Option<(u64, Choice)> {
        let misses = evaluator.evaluate(&splits);
        self.evaluated += splits.len() as u64;
        progress.advance(splits.len() as u64);
        let offered: BTreeSet<_> = misses.into_iter().zip(splits).collect();
        let best = offered.first().cloned();
        self.best.extend(offered.into_iter().take(self.keep));
        while self.best.len() > self.keep {
            self.best.pop_last();
        }
        best
    }
}

fn exhaustive(
    evaluator: &mut Evaluator<'_>,
    (functions, cores): (u32, u32),
    top: &mut Top,
    progress: &dyn Progress,
) {
    let mut next = Some((0..cores).collect::<Choice>());
    while next.is_some() {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let Some(split) = next.take() else { break };
            next = successor(&split, functions);
            batch.push(split);
        }
        top.offer(evaluator, batch, progress);
    }
}

/// The next split in lexicographic order.
fn successor(split: &Choice, functions: u32) -> Option<Choice> {
    let cores = split.len() as u32;
    let limit = |place: usize| functions - cores + place as u32;
    let place = (0..split.len())
        .rev()
        .find(|&place| split[place] < limit(place))?;
    let mut next = split.clone();
    let first = next[place] + 1;
    for (value, slot) in (first..).zip(&mut next[place..]) {
        *slot = value;
    }
    Some(next)
}

fn local(
    evaluator: &mut Evaluator<'_>,
    (functions, cores): (u32, u32),
    seed: u64,
    top: &mut Top,
    progress: &dyn Progress,
) {
    let mut greedy = Choice::new();
    for _ in 0..cores {
        let longer = (0..functions)
            .filter(|f| !greedy.contains(f))
            .map(|f| with(&greedy, f));
        let partial = longer.collect::<Vec<_>>();
        let misses = evaluator.evaluate(&partial);
        let best = misses
            .into_iter()
            .zip(partial)
            .min()
            .expect("more functions than cores");
        greedy = best.1;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut starts = vec![greedy];
    for _ in 0..RESTARTS {
        let drawn = sample(&mut random, functions as usize, cores as usize);
        let mut start: Choice = drawn.iter().map(|f| f as u32).collect();
        start.sort_unstable();
        starts.push(start);
    }
    for start in starts {
        let mut current = top
            .offer(evaluator, vec![start], progress)
            .expect("one split");
        loop {
            let neighbours = exchanges(&current.1, functions);
            match top.offer(evaluator, neighbours, progress) {
                Some(better) if better.0 < current.0 => current = better,
                _ => break,
            }
        }
    }
}

fn with(split: &Choice, function: u32) -> Choice {
    let mut longer = split.clone();
    longer.insert(longer.partition_point(|&f| f < function), function);
    longer
}

/// Every split that differs from `split` in one function.
fn exchanges(split: &Choice, functions: u32) -> Vec<Choice> {
    let others = |left: &Choice| {
        (0..functions)
            .filter(|f| !split.contains(f))
            .map(|f| with(left, f))
            .collect::<Vec<_>>()
    };
    let without = |place: usize| {
        let mut left = split.clone();
        left.remove(place);
        left
    };
    (0..split.len())
        .flat_map(|place| others(&without(place)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_visit_every_split_once_in_order() {
        let mut split = Some(vec![0, 1, 2]);
        let mut seen = Vec::new();
        while let Some(current) = split {
            split = successor(&current, 7);
            seen.push(current);
        }
        assert_eq!(seen.len() as u128, combinations(7, 3));
        assert!(seen.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn combinations_saturate_rather_than_overflow() {
        assert_eq!(combinations(115, 3), 246_905);
        assert_eq!(combinations(3, 4), 0);
        assert!(combinations(u64::MAX, 60) > EXHAUSTIVE_SPLITS);
    }

    #[test]
    fn an_exchange_changes_exactly_one_function() {
        let neighbours = exchanges(&vec![1, 3], 5);
        assert_eq!(neighbours.len(), 6);
        assert!(
            neighbours
                .iter()
                .all(|n| n.iter().filter(|f| [1, 3].contains(f)).count() == 1)
        );
    }
}
