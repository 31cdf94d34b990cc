//! Determines what is at an output's path.

use crate::atomic_file::error::{Error, failed};
use rustix::fs::{Access, OFlags, access};
use std::fs::{File, FileType, Metadata};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The kind of an output's destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file, which is new or replaced.
    File,
    /// A character device or a pipe, which is written through.
    Stream,
    /// This process's standard output. If it is a file, reopening it by name would overwrite the
    /// file from the beginning.
    StandardOutput,
    /// This process's standard error, for the same reason.
    StandardError,
}

impl Place {
    /// Opens a destination that is written through.
    pub(crate) fn open(self, path: &Path) -> Result<File, Error> {
        let shared = |descriptor: BorrowedFd<'_>| Ok(descriptor.try_clone_to_owned()?.into());
        let opened = match self {
            Place::StandardOutput => shared(std::io::stdout().as_fd()),
            Place::StandardError => shared(std::io::stderr().as_fd()),
            Place::File | Place::Stream => open(path),
        };
        opened.map_err(|source| failed(path, source))
    }
}

/// Opens a device or pipe; fails if it has been replaced by something else.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NOCTTY.bits().cast_signed();
    let stream = File::options().write(true).custom_flags(flags).open(path)?;
    match is_stream(stream.metadata()?.file_type()) {
        true => Ok(stream),
        false => Err(std::io::Error::other("it is no longer a device or pipe")),
    }
}

pub(crate) fn is_stream(kind: FileType) -> bool {
    kind.is_char_device() || kind.is_fifo()
}

/// Determines the destination of an output to `path`; `replace` allows replacing a file.
pub(crate) fn of(path: &Path, replace: bool) -> Result<Place, Error> {
    if let Some(own) = own(path) {
        return Ok(own);
    }
    let unfit = |what| {
        let path = path.into();
        Err(Error::Unfit { path, what })
    };
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return unfit("a folder");
    }
    let found = found(path.symlink_metadata()).map_err(|source| failed(path, source))?;
    match found.as_ref().map(Metadata::file_type) {
        Some(link) if link.is_symlink() => match path.metadata() {
            Ok(reached) if is_stream(reached.file_type()) => stream(path),
            Ok(reached) if reached.is_file() => unfit("a symbolic link to a file"),
            Ok(reached) => unfit(name_of(reached.file_type())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                unfit("a symbolic link to nothing")
            }
            Err(source) => Err(failed(path, source)),
        },
        Some(kind) if is_stream(kind) => stream(path),
        Some(kind) if !kind.is_file() => unfit(name_of(kind)),
        Some(_) if !replace => Err(Error::Exists { path: path.into() }),
        _ => {
            let probe = tempfile::tempfile_in(folder_of(path));
            probe.map_err(|source| failed(path, source))?;
            Ok(Place::File)
        }
    }
}

/// Returns the process's own output that the path refers to, if any.
pub(crate) fn own(path: &Path) -> Option<Place> {
    match path.to_str()? {
        "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(Place::StandardOutput),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(Place::StandardError),
        _ => None,
    }
}

fn found(metadata: std::io::Result<Metadata>) -> std::io::Result<Option<Metadata>> {
    match metadata {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn stream(path: &Path) -> Result<Place, Error> {
    let allowed = access(path, Access::WRITE_OK);
    allowed.map_err(|error| failed(path, error.into()))?;
    Ok(Place::Stream)
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_block_device() => "a block device",
        _ => "no file",
    }
}

/// Returns the folder of `path`, where a file that is to be renamed to it must be written.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
