//! What can go wrong between a binary and its patched copy.
//!
//! Three kinds, because callers treat them differently: the input is not what it should be, the
//! patch would not be safe, the output cannot be written.

use corehop_plan::Mode;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

/// Why a binary could not be read, patched or verified.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{path}: cannot read it: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
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
    /// The file is valid, but patching it as requested would not be safe.
    #[error("{path}: {reason}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The output cannot be written to its path; nothing is left of it.
    #[error(transparent)]
    Output(#[from] corehop_support::atomic_file::Error),
    /// Functions of the plan cannot be hooked.
    #[error("{path}: cannot hook {}", together(.functions))]
    Unhookable {
        /// The file with these functions.
        path: PathBuf,
        /// At least one function, in the plan's order.
        functions: Vec<Unhookable>,
    },
}

impl Error {
    /// For a file; `problem` describes what is wrong with it.
    pub(crate) fn malformed(path: &Path, problem: &impl Display) -> Error {
        Error::Input {
            path: path.into(),
            problem: problem.to_string(),
        }
    }

    /// For a file that is not patched, for this `reason`.
    pub(crate) fn refused(path: &Path, reason: impl Display) -> Error {
        Error::Refused {
            path: path.into(),
            reason: reason.to_string(),
        }
    }

    /// For what was to be read at `path`.
    pub(crate) fn reading(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Read {
            path: path.into(),
            source,
        }
    }
}

/// A function of a plan that cannot be hooked as the plan requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhookable {
    /// Its linker symbol, as in the plan.
    pub symbol: String,
    /// Virtual address of its entry in the file.
    pub offset: u64,
    /// With [`Mode::Call`], it could be hooked with [`Mode::Enter`].
    pub mode: Mode,
    /// Why.
    pub reason: String,
}

impl Display for Unhookable {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let (symbol, offset, reason) = (&self.symbol, self.offset, &self.reason);
        let mode = match self.mode {
            Mode::Enter | Mode::Count => "",
            Mode::Call => " in mode \"call\" (mode \"enter\" would do)",
        };
        write!(formatter, "{symbol} at {offset:#x}{mode}: {reason}")
    }
}

/// One function is described in full; of several, the text gives their number.
fn together(functions: &[Unhookable]) -> String {
    match functions {
        [only] => only.to_string(),
        several => format!("{} functions of the plan", several.len()),
    }
}
