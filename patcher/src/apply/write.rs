//! Puts files in place, all of them or none.
//!
//! Each is written under a temporary name in its own folder, so that what can fail (room, rights)
//! fails before any has its name; then all are renamed. Whoever looks meets whole files only.

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
    /// One of the runtime's libraries; nothing to do where the very same is there.
    ///
    /// # Errors
    /// Those of [`Output::file_at`]: without `force` no other file of that name gives way.
    pub fn library(path: &Path, library: &[u8], force: bool) -> Result<Option<Wanted>, Error> {
        let is_file = path.symlink_metadata().is_ok_and(|there| there.is_file());
        if is_file && std::fs::read(path).is_ok_and(|there| there == library) {
            return Ok(None);
        }
        Output::file_at(path, force)?;
        Ok(Some(Wanted {
            // Another patch may install the same at the same moment: replacing changes nothing.
            output: Output::file_at(path, true)?,
            contents: Composed::whole(library),
            mode: Permissions::from_mode(0o755),
        }))
    }
}

/// Writes all that is `wanted`.
///
/// # Errors
/// [`Error::Output`]; then there is none that was not there before.
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
                // Left over, it would only be a stray file: the error that matters is the first.
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
