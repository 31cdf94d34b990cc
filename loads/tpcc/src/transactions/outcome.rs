//! How a transaction ended, once its last statement was sent.

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// As 2.4.1.4 wants it for 1 % of the New-Order transactions.
    RolledBack,
}
