//! What can be wrong with a trace, or with what a recorder asks a writer to put into one.

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
        /// What the system said.
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
        /// How many bytes there are.
        bytes: u64,
    },
    /// The file is something else.
    #[error("{path}: not a corehop trace; `corehop record` writes one")]
    Foreign {
        /// The file's path.
        path: PathBuf,
    },
    /// The trace follows a version of the format that this build does not know.
    #[error(
        "{path}: written by a newer corehop (trace format {version}, this one reads up to \
         {supported}); read it with that corehop, or record it again with this one"
    )]
    Newer {
        /// The file's path.
        path: PathBuf,
        /// The version in the file.
        version: u16,
        /// The largest version that this build reads.
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
        /// Which rule is broken.
        problem: String,
    },
    /// The trace could not be written.
    #[error("{path}: cannot write the trace: {source}")]
    Write {
        /// The file being written.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A writer was given something that no trace can hold.
    #[error("cannot be recorded: {problem}")]
    Unrecordable {
        /// Which rule the call breaks.
        problem: String,
    },
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Error {
        let problem = malformed.to_string();
        Error::Unrecordable { problem }
    }
}
