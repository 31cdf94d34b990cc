//! Why a trace of another tool could not be read: always with the file and the place in it.

use std::fmt::{Display, Formatter};

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The line of a text, from 1.
    Line(u64),
    /// The byte of a file, from 0.
    Byte(u64),
}

impl Display for FilePosition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FilePosition::Line(line) => write!(formatter, "line {line}"),
            FilePosition::Byte(byte) => write!(formatter, "byte {byte}"),
        }
    }
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input could not be read.
    #[error("{name}: cannot read: {source}")]
    Read {
        /// What the input is called.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The input breaks its format, or holds what no trace can.
    #[error("{name}: {place}: {problem}")]
    Broken {
        /// What the input is called.
        name: String,
        /// Where the record begins that is wrong.
        place: FilePosition,
        /// What is wrong with it.
        problem: String,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(crate::Error),
}

/// What is wrong with a record, before anybody says where it stands.
#[derive(Debug)]
pub(crate) enum Fault {
    Problem(String),
    Trace(crate::Error),
}

impl Fault {
    pub(crate) fn at(self, name: &str, place: FilePosition) -> Error {
        match self {
            Fault::Problem(problem) => Error::Broken {
                name: name.into(),
                place,
                problem,
            },
            Fault::Trace(error) => Error::Trace(error),
        }
    }
}

impl From<crate::Error> for Fault {
    fn from(error: crate::Error) -> Self {
        match error {
            crate::Error::Unrecordable { problem } => Fault::Problem(problem),
            error => Fault::Trace(error),
        }
    }
}

/// A fault that is told by these words.
pub(crate) fn problem<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Problem(text.into()))
}
