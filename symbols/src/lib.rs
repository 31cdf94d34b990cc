//! The functions of a binary, as the symbolizer (a Python program of its own) prints them.
//!
//! It is found beside this build, so that a checkout needs no installation, or in PATH; where it is
//! in neither, a Python 3.11 or newer with pyelftools runs the one that this crate carries
//! (`carried.rs`). It keeps what it has read by build id, so asking twice costs a fraction of a
//! second. Rust's names are made readable here, by the demangler that Rust's own tools use, and
//! functions that are shown to people get the source lines that they begin at (`source.rs`).
//!
//! A Python that looks for modules in the working directory runs what lies there, and whoever is
//! asked to look at a server's folder may be root. So none that is started here does.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod carried;
mod error;
mod output;
mod source;
mod symbol;

pub use error::Error;
pub use source::{SourceLine, SourceLines};
pub use symbol::{Symbol, demangled};

use corehop_processes::installed;
use output::{Told, told_by};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "corehop-symbolizer";

/// The functions of the ELF file at `path`, sorted by offset.
pub fn of(path: &Path) -> Result<Vec<Symbol>, Error> {
    read(path).map(|told| told.functions)
}

/// All that the symbolizer tells of the file at `path`.
fn read(path: &Path) -> Result<Told, Error> {
    match find() {
        Some(program) => told_by(Command::new(program).arg(path), path),
        None => carried::told(path),
    }
}

/// `$COREHOP_SYMBOLIZER`, or the one in the checkout's environment, or any in PATH.
fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("COREHOP_SYMBOLIZER") {
        return Some(named.into());
    }
    let executable = std::env::current_exe().ok();
    let beside = executable.as_deref().and_then(beside);
    beside.or_else(|| installed(PROGRAM.as_ref()))
}

/// The one in the environment of the checkout in which the executable lies.
///
/// Folders where everyone may put something, as /tmp, are no checkouts. Whoever may write to any
/// other above the executable could as well replace that.
fn beside(executable: &Path) -> Option<PathBuf> {
    let is_open_to_all = |folder: &Path| {
        let mode = folder.metadata().map_or(0, |metadata| metadata.mode());
        mode & libc::S_ISVTX != 0
    };
    let folders = executable.ancestors().skip(1);
    folders
        .filter(|folder| !is_open_to_all(folder))
        .map(|folder| folder.join(".venv/bin").join(PROGRAM))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_checkout_in_a_folder_that_is_open_to_all_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        std::fs::create_dir_all(open.join(".venv/bin")).unwrap();
        let planted = open.join(".venv/bin").join(PROGRAM);
        std::fs::write(&planted, "").unwrap();
        let executable = open.join("target/debug/corehop");
        assert_eq!(beside(&executable), Some(planted));
        std::fs::set_permissions(&open, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(beside(&executable), None);
    }
}
