//! The file of a trace written by a recording or an import.
//!
//! It is written as `TRACE.partial`, because the remnant of a killed recording is worth keeping
//! under a predictable name. An existing file of that name stays unless --force is given: it may be
//! such a remnant. `TRACE.control` shows whether it is still being written.

use crate::control;
use corehop_support::atomic_file::Output;
use corehop_traces::{Header, Writer, WriterOptions, partial_path};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path is occupied or not possible for a file.
    #[error(transparent)]
    Output(#[from] corehop_support::atomic_file::Error),
    /// Another recorder may be recording it, or its socket's path is occupied.
    #[error(transparent)]
    Control(#[from] control::Error),
    /// A folder has the name of the unfinished trace.
    #[error("{partial} is a folder, but the trace needs this name")]
    Folder {
        /// The name.
        partial: PathBuf,
    },
    /// An unfinished trace exists.
    #[error("{partial} exists already")]
    Exists {
        /// Its name.
        partial: PathBuf,
    },
    /// The file could not be created.
    #[error(transparent)]
    Begin(#[from] corehop_traces::Error),
}

impl Error {
    /// Returns what the user can do; `None` for errors of other crates.
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

/// Checks whether a trace can be written to `path`.
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

/// Creates the trace; with `force`, replaces an unfinished one.
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

/// Removes an unfinished trace; for a link, only the link.
pub fn abandon(path: &Path) {
    let _ = std::fs::remove_file(partial_path(path));
}
