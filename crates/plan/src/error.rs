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
    #[error("{path}: {}{problem}", at(*.line))]
    Invalid {
        /// The plan's path.
        path: PathBuf,
        /// Where the entry begins that breaks the rule, if one does: a function may have several.
        line: Option<usize>,
        /// Which rule is broken, by which entry, and what to do.
        problem: Contradiction,
    },
}

fn at(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!("line {line}: "))
}
