//! The symbolizer embedded in this crate, run by the first suitable Python.

use crate::error::Error;
use crate::output::{Each, told_by};
use corehop_support::processes::{pythons, unpacked};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the embedded symbolizer on these files.
pub fn told(paths: &[&Path]) -> Result<Each, Error> {
    told_by_first(&pythons(), paths)
}

/// Runs the first of the Pythons that works; if none does, returns the first one's error.
fn told_by_first(pythons: &[PathBuf], paths: &[&Path]) -> Result<Each, Error> {
    let folder = unpacked(PACKAGE, &CARRIED).map_err(|source| Error::Unpack { source })?;
    let told = |python: &PathBuf| {
        let mut command = Command::new(python);
        command.args(["-I", "-B"]).arg(folder.path()).args(paths);
        told_by(&mut command, paths)
    };
    let lacks = |told: &Result<_, Error>| told.as_ref().is_err_and(Error::is_missing);
    let mut tried = pythons.iter().map(told);
    let first = tried.next().expect("some Python is named");
    match lacks(&first) {
        false => first,
        true => tried.find(|told| !lacks(told)).unwrap_or(first),
    }
}

const PACKAGE: &str = "corehop_symbolizer";

/// Names and contents of files of the package.
macro_rules! carried {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("corehop_symbolizer/", $name)))),*]
    };
}

/// All files of the package.
const CARRIED: [(&str, &str); 15] = carried![
    "__init__.py",
    "__main__.py",
    "cache.py",
    "command.py",
    "debug_file.py",
    "debuginfod.py",
    "demangle.py",
    "errors.py",
    "extents.py",
    "first_row.py",
    "frames.py",
    "functions.py",
    "image.py",
    "replace.py",
    "symbols.py",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    /// A missing file would affect only installed commands.
    #[test]
    fn all_of_the_symbolizer_is_carried() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(PACKAGE);
        let files = std::fs::read_dir(package)
            .unwrap()
            .flatten()
            .map(|file| file.file_name());
        let mut names: Vec<String> = files.filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| name.ends_with(".py"));
        names.sort();
        assert_eq!(names, CARRIED.map(|(name, _)| name));
    }

    /// Returns the functions of one file.
    fn functions(told: Result<Each, Error>) -> Vec<crate::Symbol> {
        told.unwrap().remove(0).unwrap().functions
    }

    #[test]
    fn what_is_carried_prints_what_the_installed_one_does() {
        let Some(installed) = find() else {
            panic!("the tests' set-up installs one");
        };
        let python = installed.with_file_name("python3");
        let paths = [Path::new("/bin/true")];
        let installed = functions(told_by(Command::new(installed).args(paths), &paths));
        // The first existing Python.
        let pythons = ["/nowhere/python3".into(), python];
        let carried = functions(told_by_first(&pythons, &paths));
        let names = |symbols: &[crate::Symbol]| -> Vec<String> {
            symbols.iter().map(|symbol| symbol.name.clone()).collect()
        };
        assert!(!installed.is_empty());
        let nowhere = told_by_first(&pythons[..1], &paths).err().unwrap();
        assert!(nowhere.is_missing(), "{nowhere}");
        assert_eq!(names(&carried), names(&installed));
    }

    /// The error text is Python's own; after it, the next Python is tried.
    #[test]
    fn a_python_that_is_too_old_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let python = find().unwrap().with_file_name("python3");
        let old = folder.path().join("python3");
        let text = format!(
            "#!/bin/sh\nshift 2\nexec '{}' -I -B -c 'import runpy, sys\n\
             sys.version_info = (3, 10, 0)\nsys.argv = sys.argv[1:]\n\
             runpy.run_path(sys.argv[0], run_name=\"__main__\")' \"$@\"\n",
            python.display()
        );
        std::fs::write(&old, text).unwrap();
        std::fs::set_permissions(&old, Permissions::from_mode(0o755)).unwrap();
        let paths = [Path::new("/bin/true")];
        let pythons = [old, python];
        let refused = told_by_first(&pythons[..1], &paths).err().unwrap();
        assert!(refused.is_missing());
        let said = "the symbolizer does not run: it needs Python 3.11 or newer, and this is 3.10";
        assert!(refused.to_string().starts_with(said), "{refused}");
        assert!(!functions(told_by_first(&pythons, &paths)).is_empty());
    }
}
