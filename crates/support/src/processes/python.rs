//! Python programs that corehop uses: in a checkout's environment, in PATH, or embedded.
//!
//! Each program is searched for next to this build, so that a checkout needs no installation, and
//! then in PATH. If it is in neither, corehop unpacks its embedded copy, and a Python of this
//! machine runs it. Nobody else can read or write that folder, and Python runs it in isolated mode.
//! It then loads modules only from there and from its own installation, not from the working
//! directory, the environment or a home folder. Every Python 3 supports that mode. The option for
//! only the working directory was added in 3.11, and an older Python must report that it is too old
//! before it runs code from there.
//!
//! A Python that searches for modules in the working directory runs code from there. A user who
//! examines a server's folder may be root. So no Python started here searches there.

use crate::processes::in_path::installed;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The file that Python runs for a folder.
const START: &str = "__main__.py";

/// Returns the program that the environment variable `variable` specifies, the one called `program`
/// in the checkout's environment, or the first in PATH.
pub fn python_program(program: &str, variable: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let executable = std::env::current_exe().ok();
    let beside = executable.as_deref();
    let beside = beside.and_then(|executable| beside_checkout(executable, program));
    beside.or_else(|| installed(program.as_ref()))
}

/// Returns the program in the environment of the checkout that contains the executable.
///
/// Folders that everyone may write to, such as /tmp, are not checkouts. A user who can write to any
/// other folder above the executable can also replace the executable.
fn beside_checkout(executable: &Path, program: &str) -> Option<PathBuf> {
    let is_open_to_all = |folder: &Path| {
        let mode = folder.metadata().map_or(0, |metadata| metadata.mode());
        mode & libc::S_ISVTX != 0
    };
    let folders = executable.ancestors().skip(1);
    folders
        .filter(|folder| !is_open_to_all(folder))
        .map(|folder| folder.join(".venv/bin").join(program))
        .find(|candidate| candidate.is_file())
}

/// Returns the Pythons to run embedded programs: the first in PATH, and the system's. For users
/// with their own environment, the dependencies of the Debian package are in the latter.
pub fn pythons() -> Vec<PathBuf> {
    let mut pythons: Vec<PathBuf> = installed("python3".as_ref()).into_iter().collect();
    pythons.push("/usr/bin/python3".into());
    pythons.dedup();
    pythons
}

/// Removes all variables that Python uses from a command's environment: an empty part of PYTHONPATH
/// means the working directory, and others may refer to it too.
pub fn without_python_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PYTHON") {
            command.env_remove(name);
        }
    }
}

/// Unpacks a package and its start file into a folder for `python -I -B`; dropping it deletes it.
///
/// # Errors
/// The operating system's error.
pub fn unpacked(package: &str, files: &[(&str, &str)]) -> std::io::Result<TempDir> {
    let folder = crate::atomic_file::private_folder()?;
    let inside = folder.path().join(package);
    std::fs::create_dir(&inside)?;
    for (name, text) in files {
        std::fs::write(inside.join(name), text)?;
        if *name == START {
            std::fs::write(folder.path().join(name), text)?;
        }
    }
    Ok(folder)
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
        let planted = open.join(".venv/bin/program");
        std::fs::write(&planted, "").unwrap();
        let executable = open.join("target/debug/corehop");
        assert_eq!(beside_checkout(&executable, "program"), Some(planted));
        std::fs::set_permissions(&open, Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(beside_checkout(&executable, "program"), None);
    }

    #[test]
    fn nobody_else_can_put_anything_beside_what_is_unpacked() {
        let files = [(START, "pass"), ("other.py", "")];
        let unpacked = || unpacked("package", &files).unwrap();
        let (one, other) = (unpacked(), unpacked());
        let mode = one.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        assert_ne!(one.path(), other.path());
        assert!(one.path().join(START).is_file());
        assert!(one.path().join("package/other.py").is_file());
    }
}
