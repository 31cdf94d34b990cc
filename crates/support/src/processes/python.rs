//! Python programs that corehop hands work to: in a checkout's environment, in PATH, or carried.
//!
//! Each is found beside this build, so that a checkout needs no installation, or in PATH; where it
//! is in neither, corehop unpacks what it carries of it, and a Python of this machine runs that.
//! The folder is one that nobody else can look into or write to, and Python runs it in isolated
//! mode: then it takes modules from there and from its own installation, and from neither the
//! working directory, the environment nor a home. Every Python 3 knows that mode. The option for
//! the working directory alone came with 3.11, and an older one has to say that it is too old
//! before it runs what lies there.
//!
//! A Python that looks for modules in the working directory runs what lies there, and whoever is
//! asked to look at a server's folder may be root. So none that is started here does.

use crate::processes::in_path::installed;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A file that Python runs when it is given the folder in which it lies.
const START: &str = "__main__.py";

/// The program that the environment variable names, or the one called `program` in the checkout's
/// environment, or any in PATH.
pub fn python_program(program: &str, variable: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let executable = std::env::current_exe().ok();
    let beside = executable.as_deref();
    let beside = beside.and_then(|executable| beside_checkout(executable, program));
    beside.or_else(|| installed(program.as_ref()))
}

/// The one in the environment of the checkout in which the executable lies.
///
/// Folders where everyone may put something, as /tmp, are no checkouts. Whoever may write to any
/// other above the executable could as well replace that.
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

/// Pythons to run what is carried: the one first in PATH, and the system's. Where someone works in
/// an environment of their own, what Debian's package depends on is in the latter.
pub fn pythons() -> Vec<PathBuf> {
    let mut pythons: Vec<PathBuf> = installed("python3".as_ref()).into_iter().collect();
    pythons.push("/usr/bin/python3".into());
    pythons.dedup();
    pythons
}

/// Takes out of what a command will find in its environment all that Python heeds: an empty part of
/// PYTHONPATH is the working directory, and others may name it too.
pub fn without_python_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PYTHON") {
            command.env_remove(name);
        }
    }
}

/// A package and what starts it, in a folder for `python -I -B`; it goes when it is dropped.
///
/// # Errors
/// What the system says.
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
