//! Puts files in place, all of them or none.
//!
//! Each is written under a temporary name in its own folder, so that what can fail (room, rights)
//! fails before any has its name; then all are renamed. Whoever looks meets whole files only.

use crate::Error;
use crate::compose::Composed;
use std::fs::Permissions;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file to be written.
pub(crate) struct Output {
    pub path: PathBuf,
    pub contents: Composed,
    pub mode: Permissions,
    /// Whether a file of that name gives way.
    pub force: bool,
}

impl Output {
    /// One of the runtime's libraries; nothing to do where the very same is there.
    ///
    /// # Errors
    /// [`Error::Exists`] for another file of that name without `force`.
    pub fn library(path: PathBuf, library: &[u8], force: bool) -> Result<Option<Output>, Error> {
        match std::fs::read(&path) {
            Ok(existing) if existing == library => return Ok(None),
            Ok(_) if !force => return Err(Error::Exists { path }),
            _ => {}
        }
        Ok(Some(Output {
            path,
            contents: Composed::whole(library),
            mode: Permissions::from_mode(0o755),
            // Another patch may install the same at the same moment: replacing changes nothing.
            force: true,
        }))
    }
}

/// Writes all of `outputs`.
///
/// # Errors
/// [`Error::Exists`] and [`Error::Write`]; then there is none that was not there before.
pub(crate) fn write(outputs: &[Output]) -> Result<(), Error> {
    let mut staged = Vec::new();
    for output in outputs {
        staged.push(stage(output).map_err(|source| failed(&output.path, source))?);
    }
    let mut new = Vec::new();
    for (file, output) in staged.into_iter().zip(outputs) {
        let was_there = output.path.exists();
        if let Err(error) = place(file, output) {
            for path in new {
                // Left over, it would only be a stray file: the error that matters is the first.
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
        if !was_there {
            new.push(&output.path);
        }
    }
    Ok(())
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: path.into(),
        source,
    }
}

fn stage(output: &Output) -> std::io::Result<NamedTempFile> {
    let mut beside = NamedTempFile::new_in(corehop_plans::folder_of(&output.path))?;
    let contents = &output.contents;
    beside.write_all(&contents.head)?;
    if !contents.tail.is_empty() {
        beside.seek(SeekFrom::Start(contents.tail_offset))?;
        beside.write_all(&contents.tail)?;
    }
    beside.as_file().set_permissions(output.mode.clone())?;
    Ok(beside)
}

fn place(file: NamedTempFile, output: &Output) -> Result<(), Error> {
    let path = &output.path;
    let moved = if output.force {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    match moved {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Error::Exists { path: path.clone() })
        }
        Err(error) => Err(failed(path, error.error)),
    }
}
