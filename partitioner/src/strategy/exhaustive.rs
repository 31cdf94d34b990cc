//! Every split, one after the other: the best of them is the best there is.
//!
//! What neighbours in that order share is evaluated once, because the evaluator remembers every
//! core's set; a split whose sets are known costs a step a call and a look-up a core. To build the
//! splits as a tree, core by core, would save those steps too, but they are not what takes time.

use super::run::{Explore, Run};

pub(super) struct Exhaustive;

/// Splits evaluated in one batch: enough to keep every host core busy, few enough that progress
/// shows and memory stays small. Batches begin small, since the sets of the first are all new.
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
