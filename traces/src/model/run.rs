//! A run: what one thread did between two stamps, which is what a replay puts into order.

/// Executions between which no other thread is known to have done anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// When the run began: a value of a counter that all threads share.
    pub stamp: u64,
    /// Number of executions.
    pub executions: u32,
}
