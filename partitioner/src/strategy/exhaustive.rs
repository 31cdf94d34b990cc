//! Every split, in lexicographic order: the best of them is the best there is.
//!
//! What neighbours in that order share is evaluated once, because the evaluator remembers every
//! core's set; a split whose sets are known costs a step a call and a look-up a core. To build the
//! splits as a tree, core by core, would save those steps too, but they are not what takes time.

use super::{Explore, Run};
use crate::evaluate::Choice;

pub(super) struct Exhaustive;

/// Splits evaluated in one batch: enough to keep every host core busy, few enough that progress
/// shows and memory stays small.
const BATCH: usize = 1 << 12;

impl Explore for Exhaustive {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let functions = run.functions();
        let mut next = Some((0..run.cores()).collect::<Choice>());
        while next.is_some() && !run.is_over() {
            let mut batch = Vec::new();
            while batch.len() < BATCH {
                let Some(split) = next.take() else { break };
                next = successor(&split, functions);
                batch.push(split);
            }
            run.offer(batch);
        }
        match run.stopped {
            false => run.best.first().map_or(0, |best| best.0),
            true => run.evaluator.floor(),
        }
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
        assert_eq!(seen.len() as u128, super::super::combinations(7, 3));
        assert!(seen.is_sorted_by(|a, b| a < b));
    }
}
