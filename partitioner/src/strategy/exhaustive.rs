//! Evaluates every split, so the best of them is optimal.
//!
//! Parts shared with neighbours in that order are evaluated once, because the evaluator stores the
//! cost of every core's set. A split whose sets are known costs one step per call and one look-up
//! per core. Building the splits as a tree, core by core, would save these steps too, but they take
//! little of the time.

use super::run::{Explore, Run};

pub(super) struct Exhaustive;

/// Splits evaluated in one batch: enough to occupy every host core, few enough that progress is
/// visible and memory use stays small. Batches begin small, because all sets of the first are new.
const BATCHES: [usize; 2] = [1 << 6, 1 << 12];

impl Explore for Exhaustive {
    fn explore(&self, run: &mut Run<'_, '_>) -> u64 {
        let space = run.space;
        let mut next = Some(space.first());
        let [mut room, most] = BATCHES;
        while next.is_some() && !run.is_over() {
            let mut batch = Vec::new();
            while batch.len() < room {
                let Some(split) = next.take() else { break };
                next = space.successor(&split);
                batch.push(split);
            }
            run.offer(batch);
            room = most.min(2 * room);
        }
        match run.stopped {
            false => run.best.first().map_or(0, |best| best.0),
            true => run.evaluator.lower_bound(),
        }
    }
}
