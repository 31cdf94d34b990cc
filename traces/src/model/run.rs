//! A run: the executions of one thread between two stamps; a replay orders runs by stamp.

/// Executions of a thread between which no other thread is known to have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Stamp at the beginning of the run: a value of a counter that all threads share.
    pub stamp: u64,
    /// Number of executions.
    pub executions: u32,
}
