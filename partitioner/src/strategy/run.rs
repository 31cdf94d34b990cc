//! State of a search: strategies offer splits to it, and it keeps the best.

use super::ranking::Strategy;
use super::space::Space;
use crate::evaluate::{Evaluator, IndexedPlacement};
use crate::progress::Progress;
use std::collections::BTreeSet;
use std::time::Instant;

/// Maximum number of splits to try exhaustively if branch and bound does not complete.
pub(super) const EXHAUSTIVE_INSTEAD: u128 = 2_000_000;

/// Maximum number of partial splits in a layer of branch and bound.
pub(super) const MOST_STATES: usize = 1 << 18;

/// Input of a search, and when to stop.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Number of cores of a split; each has at least one function.
    pub cores: u32,
    /// Number of functions of a split.
    pub functions: u32,
    /// `None`: the cheapest strategy that proves its result.
    pub strategy: Option<Strategy>,
    /// Seed of random choices.
    pub seed: u64,
    /// How many of the best splits to keep.
    pub keep: usize,
    /// Deadline; the result then depends on the speed of the host.
    pub until: Option<Instant>,
    /// Receives progress reports, and can stop the search.
    pub progress: &'a dyn Progress,
}

impl Search<'_> {
    /// Whether the deadline is over, or the user stopped the search.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.progress.is_stopped()
    }
}

/// Interface of strategies.
pub(super) trait Explore {
    /// Offers splits to `run` until it knows enough or is stopped; returns the lower bound.
    fn explore(&self, run: &mut Run<'_, '_>) -> u64;
}

/// State of a search.
pub(super) struct Run<'r, 'e> {
    pub(super) evaluator: &'r mut Evaluator<'e>,
    pub(super) space: Space,
    pub(super) search: &'r Search<'r>,
    pub(super) best: BTreeSet<(u64, IndexedPlacement)>,
    pub(super) evaluated: u64,
    pub(super) stopped: bool,
}

impl Run<'_, '_> {
    /// Evaluates `splits`, stores the best, and returns the best of these. If the search is over
    /// before all are evaluated, it stops; the first split of all is evaluated in any case.
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

    /// Returns the misses of the last split kept, if the list is full.
    pub(super) fn worst_kept(&self) -> Option<u64> {
        let full = self.best.len() == self.search.keep;
        self.best.last().filter(|_| full).map(|worst| worst.0)
    }

    /// Whether to end the search here; a search without a result continues.
    pub(super) fn is_over(&mut self) -> bool {
        self.stopped |= self.search.is_over() && !self.best.is_empty();
        self.stopped
    }
}
