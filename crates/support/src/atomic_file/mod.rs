//! Writes corehop's outputs: atomically into a file, or through a device or pipe.
//!
//! A file is written next to its final path, under an unpredictable name, and renamed when it is
//! complete, so readers never see a partial file. A rename replaces whatever is at the path, so the
//! path is checked first. Character devices and pipes are written through; everything else that is
//! not a regular file is rejected. A symbolic link to a device or pipe, such as `/dev/stdout`, is
//! followed. A link to a file is rejected. Replacing the link would leave the file unchanged.
//! Following it would let anyone who can create links in a shared folder choose which of this
//! user's files is replaced.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("plan.toml");
//! use corehop_support::atomic_file::{Output, PUBLIC};
//!
//! // Before the work that takes long: is there a file already, is there room for another?
//! let output = Output::at(&path, false)?;
//! output.write(b"cores = 4\n", PUBLIC)?;
//! assert!(Output::at(&path, false).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod error;
mod place;
mod remedy;

pub use error::Error;
pub use place::folder_of;
pub use remedy::remedy;

use error::failed;
use place::Place;
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempDir};

/// Mode of a file that everybody may read. The umask may remove permissions, and only the owner may
/// write.
pub const PUBLIC: u32 = 0o644;

/// Mode of a file that reveals another program's memory, so only its owner may access it.
pub const PRIVATE: u32 = 0o600;

/// A path that can receive an output.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    place: Place,
    /// Whether an existing file may be replaced.
    replace: bool,
}

impl Output {
    /// Checks whether an output can be written to `path`, where `-` is standard output. An existing
    /// file is replaced only with `replace`. Nothing is opened or created yet.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Unfit`], and [`Error::Write`] if no file can be created.
    pub fn at(path: &Path, replace: bool) -> Result<Output, Error> {
        let place = place::of(path, replace)?;
        Ok(Output {
            path: path.into(),
            place,
            replace,
        })
    }

    /// Like [`Output::at`], for an output that must be a file: because it is read again, executed,
    /// or found by its name.
    ///
    /// # Errors
    /// Those of [`Output::at`], and [`Error::NoFile`].
    pub fn file_at(path: &Path, replace: bool) -> Result<Output, Error> {
        let output = Output::at(path, replace)?;
        match output.is_file() {
            true => Ok(output),
            false => Err(Error::NoFile { path: path.into() }),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the output will be a file, not a device, a pipe or an open output of this
    /// process.
    pub fn is_file(&self) -> bool {
        self.place == Place::File
    }

    /// Returns whether the output is this process's standard output.
    pub fn is_standard_output(&self) -> bool {
        self.place == Place::StandardOutput
    }

    /// Begins writing. A file gets this `mode`, restricted by the umask. A pipe waits for its
    /// reader.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Unfit`] if the path has changed since the check.
    pub fn begin(&self, mode: u32) -> Result<Unfinished, Error> {
        let failed = |source| failed(&self.path, source);
        let sheet = match self.place {
            Place::File => {
                let mut file = Builder::new();
                let file = file.permissions(Permissions::from_mode(mode));
                Sheet::File(file.tempfile_in(folder_of(&self.path)).map_err(failed)?)
            }
            _ => Sheet::Stream(self.place.open(&self.path)?),
        };
        Ok(Unfinished {
            path: self.path.clone(),
            replace: self.replace,
            sheet,
        })
    }

    /// Writes the whole output.
    ///
    /// # Errors
    /// Those of [`Output::begin`] and [`Unfinished::finish`].
    pub fn write(&self, contents: &[u8], mode: u32) -> Result<(), Error> {
        let mut unfinished = self.begin(mode)?;
        let written = unfinished.write_all(contents);
        written.map_err(|source| failed(&self.path, source))?;
        unfinished.finish()
    }
}

/// An output that is being written. Dropping it unfinished deletes the file.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    replace: bool,
    sheet: Sheet,
}

#[derive(Debug)]
enum Sheet {
    File(NamedTempFile),
    Stream(File),
}

impl Unfinished {
    /// Returns the underlying file, for output that is not written sequentially.
    pub fn file(&mut self) -> &mut File {
        match &mut self.sheet {
            Sheet::File(file) => file.as_file_mut(),
            Sheet::Stream(stream) => stream,
        }
    }

    /// Renames the file to its final path.
    ///
    /// # Errors
    /// [`Error::Exists`] if a file was created there since the check, and [`Error::Write`].
    pub fn finish(self) -> Result<(), Error> {
        let Sheet::File(file) = self.sheet else {
            return Ok(());
        };
        let moved = match self.replace {
            true => file.persist(&self.path),
            false => file.persist_noclobber(&self.path),
        };
        match moved {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::Exists { path: self.path })
            }
            Err(error) => Err(failed(&self.path, error.error)),
        }
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file().flush()
    }
}

/// Creates a temporary folder that no other user may read or write, whatever the umask.
///
/// # Errors
/// The operating system's error.
pub fn private_folder() -> std::io::Result<TempDir> {
    let owner_alone = Permissions::from_mode(0o700);
    Builder::new().permissions(owner_alone).tempdir()
}

/// Creates a temporary folder in which every user may create files, and may open only files whose
/// names it knows. If this user is not root, creates a [`private_folder`], because no process then
/// belongs to another user.
///
/// # Errors
/// The operating system's error.
pub fn drop_box() -> std::io::Result<TempDir> {
    let folder = private_folder()?;
    if rustix::process::geteuid().is_root() {
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o1733))?;
    }
    Ok(folder)
}
