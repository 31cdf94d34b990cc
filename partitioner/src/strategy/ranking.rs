//! What a search ends with: the best splits, and what is known of all others.

use crate::evaluate::IndexedPlacement;

/// A way to go about a search.
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
    /// Splits drawn at random.
    Random,
}

/// Splits with their L2 misses, best first.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The best few, best first.
    pub best: Vec<(u64, IndexedPlacement)>,
    /// Number of splits evaluated.
    pub evaluated: u64,
    /// How they were chosen.
    pub strategy: Strategy,
    /// Why that strategy was taken.
    pub why: String,
    /// No split at all misses less.
    pub lower_bound: u64,
    /// Whether the search was stopped before its end.
    pub stopped: bool,
    /// Whether every split was replayed in full, as where cores share an L2: then it is ranked by
    /// the objective itself.
    pub in_full: bool,
    /// For splits drawn at random: with 99 % confidence at most this share of all is better.
    pub better_share: Option<f64>,
}

impl Ranking {
    /// Whether no split is better than the first.
    pub fn is_optimal(&self) -> bool {
        self.best
            .first()
            .is_some_and(|best| best.0 <= self.lower_bound)
    }

    /// By what share of the best possible the first split can miss more than that, at most; `None`
    /// when nothing is known of the best possible.
    pub fn gap(&self) -> Option<f64> {
        let best = self.best.first()?.0;
        let known = best <= self.lower_bound || self.lower_bound > 0;
        known.then(|| best.saturating_sub(self.lower_bound) as f64 / self.lower_bound.max(1) as f64)
    }
}
