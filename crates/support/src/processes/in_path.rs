//! Finds programs that are given without a folder, as a shell does.

use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// No program with this name is in PATH.
#[derive(Debug, thiserror::Error)]
#[error("command {command:?} not found in PATH")]
pub struct NotInPath {
    /// The name.
    pub command: OsString,
}

impl NotInPath {
    /// Returns the remedy.
    pub fn remedy(&self) -> &'static str {
        "give the path of the program"
    }
}

/// Returns the program of a command, as a shell finds it.
pub fn find(command: &OsStr) -> Result<PathBuf, NotInPath> {
    if command.as_encoded_bytes().contains(&b'/') {
        return Ok(command.into());
    }
    all_in_path(command).next().ok_or_else(|| NotInPath {
        command: command.into(),
    })
}

/// Returns the first program with this name in PATH, for programs that the user did not request. It
/// ignores relative folders, because the working directory may contain anything.
pub fn installed(name: &OsStr) -> Option<PathBuf> {
    let mut found = all_in_path(name);
    found.find(|candidate| candidate.is_absolute())
}

fn all_in_path(name: &OsStr) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin").into());
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = folders.into_iter().map(move |folder| folder.join(name));
    candidates.filter(|candidate| is_executable(candidate))
}

/// Returns whether it is a file that this process may execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}
