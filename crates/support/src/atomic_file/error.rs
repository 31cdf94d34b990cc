//! Why an output cannot be written.

use std::path::{Path, PathBuf};

/// A problem with an output's path, or with writing to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file exists, and the caller did not allow replacing it.
    #[error("{path} exists already")]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The path is something that can be neither replaced nor written through.
    #[error("{path} is {what}, which cannot be an output")]
    Unfit {
        /// The path.
        path: PathBuf,
        /// What is there, with its article.
        what: &'static str,
    },
    /// The path is a device or pipe, and the output must be a file.
    #[error("{path} is a device or pipe, but must be a file")]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// The operating system reported an error.
    #[error("{path}: cannot write: {source}")]
    Write {
        /// The path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// Creates the error for the output to `path` from the operating system's error.
pub(crate) fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: path.into(),
        source,
    }
}
