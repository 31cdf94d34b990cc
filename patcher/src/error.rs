//! What can go wrong between a binary and its patched copy.
//!
//! Three kinds, because callers treat them differently: the input is not what it should be, the
//! patch would not be safe, the output cannot be written.

use std::path::PathBuf;

/// Why a binary could not be read, patched or verified.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{path}: cannot read it: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a whole x86-64 ELF file.
    #[error("{path}: {problem}")]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        problem: String,
    },
    /// The file is what it claims to be, but patching it as asked would not be safe.
    #[error("{path}: {reason}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The output cannot be written where it was to go; nothing is left of it.
    #[error(transparent)]
    Output(#[from] corehop_outputs::Error),
}
