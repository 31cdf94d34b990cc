//! All branch predictors, by their names on the command line.

/// A branch predictor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BranchPredictorName {
    /// All branches are predicted.
    #[default]
    None,
    /// TAGE, a table of targets, and a stack of returns.
    Tage,
}

/// All branch predictors, in the order in which they are listed.
pub static BRANCH_PREDICTORS: &[BranchPredictorName] =
    &[BranchPredictorName::None, BranchPredictorName::Tage];

impl BranchPredictorName {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            BranchPredictorName::None => "none",
            BranchPredictorName::Tage => "tage",
        }
    }

    /// Returns a one-line description.
    pub fn summary(self) -> &'static str {
        match self {
            BranchPredictorName::None => "Predict every branch correctly",
            BranchPredictorName::Tage => {
                "Predict conditional branches by TAGE, indirect ones by a table of targets, and \
                 returns by a stack"
            }
        }
    }
}
