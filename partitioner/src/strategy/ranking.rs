//! Result of a search: the best splits, and bounds for all others.

use crate::evaluate::IndexedPlacement;

/// Strategy of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Every split is evaluated.
    Exhaustive,
    /// Branch and bound over partial splits, those with the same future merged.
    Bound,
    /// Greedy start and random restarts, one exchange at a time.
    #[serde(rename = "local-search")]
    Local,
    /// Random splits.
    Random,
}

/// Splits with their costs, best first.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The best few, best first.
    pub best: Vec<(u64, IndexedPlacement)>,
    /// Number of splits evaluated.
    pub evaluated: u64,
    /// The strategy that selected them.
    pub strategy: Strategy,
    /// Why that strategy was selected.
    pub why: String,
    /// Lower bound of the misses of any split.
    pub lower_bound: u64,
    /// Whether the search was stopped before its end.
    pub stopped: bool,
    /// Whether every split was replayed in full, e.g. because cores share an L2. Then splits are
    /// ranked by the objective itself.
    pub in_full: bool,
    /// For random splits: with 99 % confidence, at most this share of all splits is better.
    pub better_share: Option<f64>,
}

impl Ranking {
    /// Whether no split is better than the first.
    pub fn is_optimal(&self) -> bool {
        self.best
            .first()
            .is_some_and(|best| best.0 <= self.lower_bound)
    }

    /// Returns the maximum relative excess of the first split's misses over the optimum; `None` if
    /// the optimum has no known bound.
    pub fn gap(&self) -> Option<f64> {
        let best = self.best.first()?.0;
        let known = best <= self.lower_bound || self.lower_bound > 0;
        known.then(|| best.saturating_sub(self.lower_bound) as f64 / self.lower_bound.max(1) as f64)
    }
}
