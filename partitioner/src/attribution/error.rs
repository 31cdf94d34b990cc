//! Why a plan could not be explained.

use std::path::PathBuf;

/// Why a plan cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan does not fit the trace or the machine.
    #[error("{}: {source}", plan.display())]
    Plan {
        /// Path of the plan.
        plan: PathBuf,
        /// The simulator's error.
        source: corehop_simulator::Error,
    },
    /// The trace could not be replayed on one core.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// The plan's neighbours could not be found or replayed.
    #[error(transparent)]
    Neighbours(#[from] crate::Error),
}
