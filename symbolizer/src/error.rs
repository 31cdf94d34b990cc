//! Why the functions of a binary are unavailable: no working symbolizer, or no functions in the
//! file.

use std::path::PathBuf;

/// Why the functions of a binary are unavailable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The symbolizer could not be started.
    #[error("cannot run the symbolizer {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The symbolizer ended before it could read anything: missing module, too old a Python, no
    /// Python.
    #[error("the symbolizer does not run: {said}")]
    Unusable {
        /// The last line of its output, or its exit status.
        said: String,
    },
    /// The embedded symbolizer could not be unpacked.
    #[error("cannot unpack the symbolizer: {source}")]
    Unpack {
        /// The system's error.
        source: std::io::Error,
    },
    /// The symbolizer's output does not have the format of this version.
    #[error("cannot parse what {program} printed for {path}: {source}")]
    Output {
        /// The symbolizer.
        program: PathBuf,
        /// The binary.
        path: PathBuf,
        /// The parse error.
        source: serde_json::Error,
    },
    /// The symbolizer works, and rejected the file.
    #[error("no functions of {path}: {reason}")]
    Refused {
        /// The binary.
        path: PathBuf,
        /// The symbolizer's error, or its exit status.
        reason: String,
    },
}

impl Error {
    /// Whether this machine lacks something; otherwise, the binary is the cause.
    pub fn is_missing(&self) -> bool {
        !matches!(self, Error::Refused { .. })
    }

    /// Returns what the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Start { .. } | Error::Unusable { .. } => {
                "install Python 3.11 or newer with pyelftools (`apt-get install \
                 python3-pyelftools`; in a checkout `make build` does), or name a symbolizer in \
                 COREHOP_SYMBOLIZER"
            }
            Error::Unpack { .. } => "set TMPDIR to a folder with room",
            Error::Output { .. } => "run `make build` to install this version's",
            Error::Refused { .. } => "`corehop doctor` says whether the symbolizer works at all",
        }
    }
}
