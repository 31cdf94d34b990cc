//! Branch prediction: each branch is predicted by the predictors of its core.

use crate::branches::{Branch, BranchCounters, Predictor};

pub(crate) struct Predicting<'a> {
    /// The branches that entries of the streams refer to.
    branches: &'a [Branch],
    predictors: Vec<Predictor>,
    counters: Vec<BranchCounters>,
}

impl<'a> Predicting<'a> {
    /// Creates predictors for `cores` cores that have learned nothing.
    pub fn new(branches: &'a [Branch], cores: u32) -> Predicting<'a> {
        Predicting {
            branches,
            predictors: (0..cores).map(|_| Predictor::new()).collect(),
            counters: vec![BranchCounters::default(); cores as usize],
        }
    }

    /// Predicts the branch at this index on a core; returns whether the prediction was right.
    #[inline]
    pub fn predict(&mut self, core: usize, branch: usize) -> bool {
        let branch = &self.branches[branch];
        let is_right = self.predictors[core].predict(branch);
        self.counters[core].count(branch.way, !is_right);
        is_right
    }

    /// Resets the counts; the predictors do not change.
    pub fn start_counting(&mut self) {
        self.counters.fill(BranchCounters::default());
    }

    /// Returns the counts of each core.
    pub fn counters(&self) -> &[BranchCounters] {
        &self.counters
    }
}
