//! Errors of a plan.

use crate::contradiction::Contradiction;
use std::path::PathBuf;

/// Why a plan cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{path}: cannot read the plan: {source}")]
    Read {
        /// The plan's path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a plan; `place` contains line and column.
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
        /// The line at which the invalid entry begins, if the rule concerns one.
        line: Option<usize>,
        /// The violated rule, the entry that violates it, and the remedy.
        problem: Contradiction,
    },
}

fn at(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!("line {line}: "))
}
