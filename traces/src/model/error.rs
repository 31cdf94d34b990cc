//! Errors of a trace, or of a recorder's request to write one.

use super::malformed::Malformed;
use std::path::PathBuf;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{path}: cannot read the trace: {source}")]
    Read {
        /// The trace's path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file has no bytes.
    #[error("{path}: the file is empty; record it again")]
    Empty {
        /// The file's path.
        path: PathBuf,
    },
    /// The file ends before its first entry does.
    #[error(
        "{path}: the file ends within its first entry, after {bytes} bytes, so nothing can be \
         recovered; record it again"
    )]
    TooShort {
        /// The file's path.
        path: PathBuf,
        /// Number of bytes in the file.
        bytes: u64,
    },
    /// The file is not a trace.
    #[error("{path}: not a corehop trace; `corehop record` writes one")]
    Foreign {
        /// The file's path.
        path: PathBuf,
    },
    /// The trace has a format version that this build does not support.
    #[error(
        "{path}: written by a newer corehop (trace format {version}, this one reads up to \
         {supported}); read it with that corehop, or record it again with this one"
    )]
    Newer {
        /// The file's path.
        path: PathBuf,
        /// The version in the file.
        version: u16,
        /// The largest version that this build supports.
        supported: u16,
    },
    /// The bytes contradict the format.
    #[error(
        "{path}: damaged at entry {entry}, byte {offset}: {problem}; `corehop check {path}` says \
         how much is intact"
    )]
    Damaged {
        /// The file's path.
        path: PathBuf,
        /// Number of the entry, from 0.
        entry: u32,
        /// Where the entry begins in the file.
        offset: u64,
        /// The broken rule.
        problem: String,
    },
    /// The trace could not be written.
    #[error("{path}: cannot write the trace: {source}")]
    Write {
        /// The file being written.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A writer was given data that no trace can contain.
    #[error("cannot be recorded: {problem}")]
    Unrecordable {
        /// The rule that the call breaks.
        problem: String,
    },
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Error {
        let problem = malformed.to_string();
        Error::Unrecordable { problem }
    }
}
