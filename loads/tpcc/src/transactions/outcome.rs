//! The outcome of a transaction, after its last statement was sent.

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// Required by 2.4.1.4 for 1 % of the New-Order transactions.
    RolledBack,
}
