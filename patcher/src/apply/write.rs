//! Writes files to their final names, all of them or none.
//!
//! Each is written under a temporary name in its folder, so that failures (space, rights) happen
//! before any file has its final name. Then all are renamed. Other processes only see whole files.

use crate::Error;
use crate::emit::Composed;
use corehop_support::atomic_file::{Output, PRIVATE, Unfinished};
use std::fs::Permissions;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A file to be written.
pub(super) struct Wanted {
    pub output: Output,
    pub contents: Composed,
    pub mode: Permissions,
}

impl Wanted {
    /// One of the runtime's libraries; nothing to do if the same one is there.
    ///
    /// # Errors
    /// Those of [`Output::file_at`]: without `force` it does not replace another file of that name.
    pub fn library(path: &Path, library: &[u8], force: bool) -> Result<Option<Wanted>, Error> {
        let is_file = path.symlink_metadata().is_ok_and(|there| there.is_file());
        if is_file && std::fs::read(path).is_ok_and(|there| there == library) {
            return Ok(None);
        }
        Output::file_at(path, force)?;
        Ok(Some(Wanted {
            // Another patch may install the same file at the same time: replacing it changes
            // nothing.
            output: Output::file_at(path, true)?,
            contents: Composed::whole(library),
            mode: Permissions::from_mode(0o755),
        }))
    }
}

/// Writes all that is `wanted`.
///
/// # Errors
/// [`Error::Output`]; then no new file exists.
pub(super) fn write(wanted: &[Wanted]) -> Result<(), Error> {
    let mut staged = Vec::new();
    for file in wanted {
        staged.push(stage(file)?);
    }
    let mut new = Vec::new();
    for (file, wanted) in staged.into_iter().zip(wanted) {
        let path = wanted.output.path();
        let was_there = path.exists();
        if let Err(error) = file.finish() {
            for path in new {
                // A leftover would only be a stray file: the first error is the one that matters.
                let _ = std::fs::remove_file(path);
            }
            return Err(error.into());
        }
        if !was_there {
            new.push(path);
        }
    }
    Ok(())
}

fn stage(wanted: &Wanted) -> Result<Unfinished, Error> {
    let mut unfinished = wanted.output.begin(PRIVATE)?;
    fill(unfinished.file(), wanted).map_err(|source| {
        corehop_support::atomic_file::Error::Write {
            path: wanted.output.path().into(),
            source,
        }
    })?;
    Ok(unfinished)
}

fn fill(file: &mut std::fs::File, wanted: &Wanted) -> std::io::Result<()> {
    let contents = &wanted.contents;
    file.write_all(&contents.head)?;
    if !contents.tail.is_empty() {
        file.seek(SeekFrom::Start(contents.tail_offset))?;
        file.write_all(&contents.tail)?;
    }
    file.set_permissions(wanted.mode.clone())
}
