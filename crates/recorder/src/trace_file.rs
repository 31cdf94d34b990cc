//! The file of a trace that is to be written, by a recording or an import.
//!
//! It is written as `TRACE.partial`, because what a killed recording leaves is worth keeping, and
//! so that name can be foreseen. Whatever has it already stays, unless --force says that it may go:
//! it may be just what was kept, and `TRACE.control` tells whether someone still writes it.

use crate::control;
use corehop_support::atomic_file::Output;
use corehop_traces::{Header, Writer, WriterOptions, partial_path};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is taken, or no file can have it.
    #[error(transparent)]
    Output(#[from] corehop_support::atomic_file::Error),
    /// Another recorder may be at work on it, or something is in the way of its socket.
    #[error(transparent)]
    Control(#[from] control::Error),
    /// A folder has the name of the unfinished trace.
    #[error("{partial} is a folder, but the trace needs this name")]
    Folder {
        /// The name.
        partial: PathBuf,
    },
    /// An unfinished trace is there.
    #[error("{partial} exists already")]
    Exists {
        /// Its name.
        partial: PathBuf,
    },
    /// The file could not be made.
    #[error(transparent)]
    Begin(#[from] corehop_traces::Error),
}

impl Error {
    /// What the user can do about it; `None` where the error is another crate's.
    pub fn remedy(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Error::Output(_) | Error::Begin(_) => return None,
            Error::Control(error) => error.remedy().into(),
            Error::Folder { .. } => "name another file with -o".into(),
            Error::Exists { partial } => format!(
                "it is the trace of a killed recording (`corehop check --partial {}`): rename it, \
                 or add --force to replace it",
                partial.display()
            )
            .into(),
        })
    }
}

/// Finds out whether a trace can be written to `path`.
pub fn check(path: &Path, force: bool) -> Result<(), Error> {
    Output::file_at(path, force)?;
    control::refuse_second(path)?;
    let partial = partial_path(path);
    let Ok(there) = partial.symlink_metadata() else {
        return Ok(());
    };
    if there.is_dir() {
        return Err(Error::Folder { partial });
    }
    match force {
        true => Ok(()),
        false => Err(Error::Exists { partial }),
    }
}

/// Begins the trace; with `force`, in place of one that was left unfinished.
pub fn begin(
    path: &Path,
    force: bool,
    header: &Header,
    options: &WriterOptions,
) -> Result<Writer, Error> {
    check(path, force)?;
    if force {
        abandon(path);
    }
    Ok(Writer::create(path, header, options)?)
}

/// Removes what is not finished of a trace; of a link, the link.
pub fn abandon(path: &Path) {
    let _ = std::fs::remove_file(partial_path(path));
}
