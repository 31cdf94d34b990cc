//! Why a trace of another tool could not be read, with the file and the place in it.

use std::fmt::{Display, Formatter};

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePosition {
    /// The line of a text, from 1.
    Line(u64),
    /// A record.
    Record {
        /// Its number, from 1.
        number: u64,
        /// Its first byte in the decompressed data, from 0.
        byte: u64,
    },
}

impl FilePosition {
    /// Returns the place of the record with this number, from 0; all records have the same size.
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
        /// Name of the input.
        name: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The input breaks its format, or contains what no trace can.
    #[error("{name}: {place}: {problem}")]
    Broken {
        /// Name of the input.
        name: String,
        /// Where the invalid record begins.
        place: FilePosition,
        /// What is wrong with it.
        problem: String,
    },
    /// The input is truncated or corrupt.
    #[error("{name}: {place}: {problem}")]
    Damaged {
        /// Name of the input.
        name: String,
        /// Place of the first unreadable record.
        place: FilePosition,
        /// What is wrong there.
        problem: String,
    },
    /// A folder contains no readable trace.
    #[error("{name}: {problem}")]
    NoTrace {
        /// Name of the folder.
        name: String,
        /// What it contains instead.
        problem: String,
        /// The remedy.
        remedy: String,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(crate::Error),
}

/// A fault in a record, without its place.
#[derive(Debug)]
pub(crate) enum Fault {
    Problem(String),
    /// One that a valid file does not have.
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

/// Returns a fault with this text.
pub(crate) fn problem<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Problem(text.into()))
}

/// Returns a fault that no valid file has, with this text.
pub(crate) fn damage<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Damage(text.into()))
}
