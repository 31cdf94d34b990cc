//! What can be wrong with a plan.

use crate::contradiction::Contradiction;
use std::path::PathBuf;

/// Why a plan could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{path}: cannot read the plan: {source}")]
    Read {
        /// The plan's path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a plan; `place` has line and column.
    #[error("{path}: not a valid plan: {place}")]
    Syntax {
        /// The plan's path.
        path: PathBuf,
        /// What is wrong and where.
        place: String,
    },
    /// The plan is well-formed but contradicts itself.
    #[error("{path}: {problem}")]
    Invalid {
        /// The plan's path.
        path: PathBuf,
        /// Which rule is broken, by which entry, and what to do.
        problem: Contradiction,
    },
}
