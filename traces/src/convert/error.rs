//! Why a trace of another tool could not be read: always with the file and the place in it.

use std::fmt::{Display, Formatter};

/// Where something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The line of a text, from 1.
    Line(u64),
    /// A record.
    Record {
        /// Which it is, from 1.
        number: u64,
        /// Its first byte, from 0, of what is packed in the file.
        byte: u64,
    },
}

impl FilePosition {
    /// That of the record with this number, from 0, of those that have so many bytes each.
    pub(crate) fn of_record(number: u64, bytes: usize) -> FilePosition {
        FilePosition::Record {
            number: number + 1,
            byte: number * bytes as u64,
        }
    }
}

impl Display for FilePosition {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            FilePosition::Line(line) => write!(formatter, "line {line}"),
            FilePosition::Record { number, byte } => {
                write!(formatter, "record {number} (byte {byte})")
            }
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
    /// The input is cut off, or its bytes are not what was written.
    #[error("{name}: {place}: {problem}")]
    Damaged {
        /// What the input is called.
        name: String,
        /// Where the first record is that cannot be read.
        place: FilePosition,
        /// What is wrong there.
        problem: String,
    },
    /// A folder holds no trace that can be read.
    #[error("{name}: {problem}")]
    NoTrace {
        /// What the folder is called.
        name: String,
        /// What it holds instead.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(crate::Error),
}

/// What is wrong with a record, before anybody says where it stands.
#[derive(Debug)]
pub(crate) enum Fault {
    Problem(String),
    /// One that a sound file does not have.
    Damage(String),
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
            Fault::Damage(problem) => Error::Damaged {
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

/// A fault that no sound file has, told by these words.
pub(crate) fn damage<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Damage(text.into()))
}
