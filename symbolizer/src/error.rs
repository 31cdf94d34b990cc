//! Why there are no functions of a binary: the machine lacks a symbolizer, or the file has none.

use std::path::PathBuf;

/// Why the functions of a binary are not known.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The symbolizer could not be started.
    #[error("cannot run the symbolizer {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The symbolizer ended before it could read anything: no module, too old a Python, no Python.
    #[error("the symbolizer does not run: {said}")]
    Unusable {
        /// The last line that it printed, or how it ended.
        said: String,
    },
    /// The symbolizer that is carried could not be unpacked.
    #[error("cannot unpack the symbolizer: {source}")]
    Unpack {
        /// What the system said.
        source: std::io::Error,
    },
    /// What the symbolizer printed is not what this version's prints.
    #[error("cannot parse what {program} printed for {path}: {source}")]
    Output {
        /// The symbolizer.
        program: PathBuf,
        /// The binary.
        path: PathBuf,
        /// Where the output goes wrong.
        source: serde_json::Error,
    },
    /// The symbolizer runs, and refused the file.
    #[error("no functions of {path}: {reason}")]
    Refused {
        /// The binary.
        path: PathBuf,
        /// What the symbolizer said, or how it ended.
        reason: String,
    },
}

impl Error {
    /// Whether this machine lacks something; otherwise it is the binary's fault.
    pub fn is_missing(&self) -> bool {
        !matches!(self, Error::Refused { .. })
    }

    /// What the user can do about it.
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
