//! Why an output cannot go where it was asked to.

use std::path::{Path, PathBuf};

/// What is wrong with a place, or with writing to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is a file, and nobody said that it may be replaced.
    #[error("{path} exists already")]
    Exists {
        /// The place.
        path: PathBuf,
    },
    /// There is something that can be neither replaced nor written through.
    #[error("{path} is {what}, which cannot be an output")]
    Unfit {
        /// The place.
        path: PathBuf,
        /// What is there, with its article.
        what: &'static str,
    },
    /// There is a device or pipe, and the output must be a file.
    #[error("{path} is a device or pipe, but must be a file")]
    NoFile {
        /// The place.
        path: PathBuf,
    },
    /// The system would not take it.
    #[error("{path}: cannot write: {source}")]
    Write {
        /// The place.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What the system said of the output to `path`.
pub(crate) fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: path.into(),
        source,
    }
}
