//! Why a plan could not be explained.

use std::path::PathBuf;

/// What stands between a plan and its explanation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan does not fit the trace or the machine.
    #[error("{}: {source}", plan.display())]
    Plan {
        /// Where the plan was read from.
        plan: PathBuf,
        /// What the simulator says of it.
        source: corehop_simulator::Error,
    },
    /// The trace could not be replayed on one core.
    #[error(transparent)]
    Replay(#[from] corehop_simulator::Error),
    /// The plan's neighbours could not be found or replayed.
    #[error(transparent)]
    Neighbours(#[from] crate::Error),
}
