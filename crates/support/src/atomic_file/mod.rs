//! Where corehop's outputs go: into a file that appears whole, or through a device or pipe.
//!
//! A file is written beside its place, under a name that nobody can foresee, and renamed when it is
//! whole, so whoever looks meets no half of it. A rename replaces whatever has the name, so it is
//! looked at first: character devices and pipes are written through, and all else that is no
//! regular file is refused. A symbolic link to a device or pipe, such as `/dev/stdout`, is
//! followed; one to a file is refused, since neither of the two other ways is what was asked for:
//! to replace the link leaves the file as it was, and to follow it lets whoever may make links in
//! a shared folder say which file of this user is replaced.
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

/// The mode of a file that everybody may read. The umask may take more away, and nobody but the
/// owner may ever write.
pub const PUBLIC: u32 = 0o644;

/// The mode of a file that tells of another program's memory, and so is its owner's alone.
pub const PRIVATE: u32 = 0o600;

/// A place that can take an output.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    place: Place,
    /// Whether a file that is there gives way.
    replace: bool,
}

impl Output {
    /// Finds out whether an output can go to `path`, where `-` is standard output; a file that is
    /// there gives way to it only with `replace`. Nothing is opened or made yet.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Unfit`], and [`Error::Write`] where no file can be made.
    pub fn at(path: &Path, replace: bool) -> Result<Output, Error> {
        let place = place::of(path, replace)?;
        Ok(Output {
            path: path.into(),
            place,
            replace,
        })
    }

    /// The same for what must be a file: because it is read again, run, or known by its name.
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

    /// Where that is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it will be a file, and not a device, a pipe or an open output of this process.
    pub fn is_file(&self) -> bool {
        self.place == Place::File
    }

    /// Whether it is this process's standard output.
    pub fn is_standard_output(&self) -> bool {
        self.place == Place::StandardOutput
    }

    /// Begins to write: a file with this `mode`, of which the umask may take away. Of a pipe this
    /// waits for the reader.
    ///
    /// # Errors
    /// [`Error::Write`]; [`Error::Unfit`] for a place that has changed since it was looked at.
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

    /// Writes all of it.
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

/// An output that is being written. A file that is dropped unfinished was never there.
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
    /// The file itself, for what is not written from its beginning to its end.
    pub fn file(&mut self) -> &mut File {
        match &mut self.sheet {
            Sheet::File(file) => file.as_file_mut(),
            Sheet::Stream(stream) => stream,
        }
    }

    /// Gives a file its name.
    ///
    /// # Errors
    /// [`Error::Exists`] where one has come to be there meanwhile, and [`Error::Write`].
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

/// A temporary folder that no other user may look or write into, whatever the umask.
///
/// # Errors
/// What the system says.
pub fn private_folder() -> std::io::Result<TempDir> {
    let owner_alone = Permissions::from_mode(0o700);
    Builder::new().permissions(owner_alone).tempdir()
}

/// A temporary folder in which every user may leave files of its own, and look at none but those
/// that it knows the names of; where this user is not root, a [`private_folder`], since no process
/// of another user comes of it.
///
/// # Errors
/// What the system says.
pub fn drop_box() -> std::io::Result<TempDir> {
    let folder = private_folder()?;
    if rustix::process::geteuid().is_root() {
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o1733))?;
    }
    Ok(folder)
}
