//! A search under way: strategies offer splits to it, and it keeps the best.

use super::ranking::Strategy;
use super::space::Space;
use crate::evaluate::{Evaluator, IndexedPlacement};
use crate::progress::Progress;
use std::collections::BTreeSet;
use std::time::Instant;

/// More splits than this are not all tried where branch and bound does not get through.
pub(super) const EXHAUSTIVE_INSTEAD: u128 = 2_000_000;

/// Partial splits that branch and bound keeps at a time.
pub(super) const MOST_STATES: usize = 1 << 18;

/// What to search, and when to stop.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Number of cores of a split; each has a function at least.
    pub cores: u32,
    /// Number of functions of a split.
    pub functions: u32,
    /// `None`: the cheapest strategy that proves its result.
    pub strategy: Option<Strategy>,
    /// Where random choices start.
    pub seed: u64,
    /// How many of the best splits to keep.
    pub keep: usize,
    /// When to stop at the latest; the result then depends on the speed of the host.
    pub until: Option<Instant>,
    /// Is told how far the search is, and can stop it.
    pub progress: &'a dyn Progress,
}

impl Search<'_> {
    /// Whether time is up, or someone wants the search to end.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.progress.is_stopped()
    }
}

/// What every strategy does.
pub(super) trait Explore {
    /// Offers splits to `run` until it knows enough or is stopped; gives the lower bound.
    fn explore(&self, run: &mut Run<'_, '_>) -> u64;
}

/// A search under way.
pub(super) struct Run<'r, 'e> {
    pub(super) evaluator: &'r mut Evaluator<'e>,
    pub(super) space: Space,
    pub(super) search: &'r Search<'r>,
    pub(super) best: BTreeSet<(u64, IndexedPlacement)>,
    pub(super) evaluated: u64,
    pub(super) stopped: bool,
}

impl Run<'_, '_> {
    /// Evaluates `splits`, remembers the best, and gives the best of these. A search that is over
    /// before all are evaluated is stopped; the first of all is evaluated in any case.
    pub(super) fn offer(
        &mut self,
        splits: Vec<IndexedPlacement>,
    ) -> Option<(u64, IndexedPlacement)> {
        let search = *self.search;
        let first = usize::from(self.best.is_empty()).min(splits.len());
        let mut misses = self.evaluator.evaluate_until(&splits[..first], &|| false);
        let others = &splits[first..];
        misses.extend(self.evaluator.evaluate_until(others, &|| search.is_over()));
        let evaluated = misses.iter().flatten().count();
        self.stopped |= evaluated < splits.len();
        self.evaluated += evaluated as u64;
        self.search.progress.advance(evaluated as u64);
        let offered = misses.into_iter().zip(splits);
        let offered: BTreeSet<_> = offered.filter_map(|(m, split)| Some((m?, split))).collect();
        let best = offered.first().cloned();
        self.remember(offered.into_iter().take(self.search.keep));
        best
    }

    pub(super) fn remember(&mut self, splits: impl IntoIterator<Item = (u64, IndexedPlacement)>) {
        self.best.extend(splits);
        while self.best.len() > self.search.keep {
            self.best.pop_last();
        }
    }

    /// Misses of the last split kept, when no more are kept than wanted.
    pub(super) fn worst_kept(&self) -> Option<u64> {
        let full = self.best.len() == self.search.keep;
        self.best.last().filter(|_| full).map(|worst| worst.0)
    }

    /// Whether to end the search here; a search that has nothing to show goes on.
    pub(super) fn is_over(&mut self) -> bool {
        self.stopped |= self.search.is_over() && !self.best.is_empty();
        self.stopped
    }
}
