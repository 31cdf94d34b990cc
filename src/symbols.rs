//! The functions of a binary, as the symbolizer (a Python program of its own) prints them.
//!
//! It is found beside this build, so that a checkout needs no installation, or in PATH; where it is
//! in neither, a Python 3.11 with pyelftools runs the one that this command carries. It keeps
//! what it has read by build id, so asking twice costs a fraction of a second. Rust's names are
//! made readable here, by the demangler that Rust's own tools use.

use crate::failure::{Exit, Failure};
use crate::in_path::in_path;
use serde::Deserialize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "corehop-symbolizer";

/// One function.
#[derive(Clone, Debug, Deserialize)]
pub struct Symbol {
    /// Virtual address of the entry in the ELF file.
    pub offset: u64,
    /// Size in bytes; 0 when unknown.
    pub size: u64,
    /// Linker symbol, or a made-up name where the file has none.
    pub symbol: String,
    /// The symbol demangled.
    pub name: String,
    /// Other linker symbols of the same entry.
    #[serde(default)]
    pub aliases: Vec<String>,
}

impl Symbol {
    /// With its name demangled, where it is one of Rust's; without the hash of the older scheme,
    /// which says nothing to people.
    fn readable(mut self) -> Symbol {
        if self.name == self.symbol
            && let Ok(name) = rustc_demangle::try_demangle(&self.symbol)
        {
            self.name = format!("{name:#}");
        }
        self
    }
}

#[derive(Deserialize)]
struct Output {
    functions: Vec<Symbol>,
}

/// The functions of the ELF file at `path`, sorted by offset.
pub fn of(path: &Path) -> Result<Vec<Symbol>, Failure> {
    match find() {
        Some(program) => told_by(Command::new(program).arg(path), path),
        None => told_by_carried(&PYTHONS, path),
    }
}

/// The one first in PATH, and the system's: where someone works in an environment of their own,
/// what Debian's package depends on is in the latter.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// What the carried symbolizer says of `path`, run by the first Python that can.
fn told_by_carried(pythons: &[&str], path: &Path) -> Result<Vec<Symbol>, Failure> {
    let folder = unpacked().map_err(|error| {
        let message = format!("cannot unpack the symbolizer: {error}");
        Failure::new(Exit::Missing, message).remedy("set TMPDIR to a folder with room")
    })?;
    let told = |python: &&str| {
        let mut command = Command::new(python);
        let command = command.args(["-B", "-m", PACKAGE]).arg(path);
        told_by(command.env("PYTHONPATH", folder.path()), path)
    };
    let lacks = |told: &Result<_, Failure>| told.as_ref().is_err_and(Failure::is_missing);
    let mut tried = pythons.iter().map(told);
    let first = tried.next().expect("some Python is named");
    match lacks(&first) {
        false => first,
        true => tried.find(|told| !lacks(told)).unwrap_or(first),
    }
}

/// What the symbolizer says of `path`, run by `command`.
fn told_by(command: &mut Command, path: &Path) -> Result<Vec<Symbol>, Failure> {
    // In a process group of its own, so that a Ctrl-C meant for a recording does not cut it short.
    let output = command.process_group(0).output();
    let program = command.get_program().display();
    let output = output.map_err(|error| {
        Failure::new(
            Exit::Missing,
            format!("cannot run the symbolizer {program}: {error}"),
        )
        .remedy(INSTALL)
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("corehop-symbolizer: ");
        if said.contains("No module named") {
            let last = said.lines().last().unwrap_or_default();
            let message = format!("the symbolizer does not run: {last}");
            return Err(Failure::new(Exit::Missing, message).remedy(INSTALL));
        }
        let message = format!("no functions of {}: {said}", path.display());
        return Err(Failure::new(Exit::Input, message)
            .remedy("`corehop doctor` says whether the symbolizer works at all"));
    }
    let parsed: Result<Output, _> = serde_json::from_slice(&output.stdout);
    let readable = |output: Output| output.functions.into_iter().map(Symbol::readable).collect();
    parsed.map(readable).map_err(|error| {
        let path = path.display();
        let message = format!("what {program} printed for {path} makes no sense: {error}");
        Failure::new(Exit::Missing, message).remedy("run `make build` to install this version's")
    })
}

const INSTALL: &str = "install Python 3.11 with pyelftools (`apt-get install python3-pyelftools`; \
                       in a checkout `make build` does), or name a symbolizer in \
                       COREHOP_SYMBOLIZER";

const PACKAGE: &str = "corehop_symbolizer";

/// A file of the package, by its name.
macro_rules! carried {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../symbolizer/src/corehop_symbolizer/", $name)))),*]
    };
}

/// The package.
const CARRIED: [(&str, &str); 13] = carried![
    "__init__.py",
    "__main__.py",
    "cache.py",
    "command.py",
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

/// The package in a folder that goes when it is dropped.
fn unpacked() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let package = folder.path().join(PACKAGE);
    std::fs::create_dir(&package)?;
    for (name, text) in CARRIED {
        std::fs::write(package.join(name), text)?;
    }
    Ok(folder)
}

/// `$COREHOP_SYMBOLIZER`, or the one in the checkout's environment, or any in PATH.
fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("COREHOP_SYMBOLIZER") {
        return Some(named.into());
    }
    let beside = std::env::current_exe().ok().and_then(|executable| {
        executable
            .ancestors()
            .map(|folder| folder.join(".venv/bin").join(PROGRAM))
            .find(|candidate| candidate.is_file())
    });
    beside.or_else(|| in_path(PROGRAM.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that is not carried would be missed by installed commands alone.
    #[test]
    fn all_of_the_symbolizer_is_carried() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("symbolizer/src")
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

    /// Symbols from RFC 2603 and rustc's documentation; C++'s are the symbolizer's own business.
    #[test]
    fn names_of_both_rust_schemes_are_readable_and_others_stay() {
        let name_of = |symbol: &str, name: &str| {
            let (symbol, name) = (symbol.to_owned(), name.to_owned());
            let symbol = Symbol {
                offset: 0,
                size: 0,
                symbol,
                name,
                aliases: Vec::new(),
            };
            symbol.readable().name
        };
        for (symbol, name) in [
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            (
                "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h89abcdef01234567E",
                "core::ptr::drop_in_place<alloc::string::String>",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RNvgarbage", "_RNvgarbage"),
            ("_R", "_R"),
            ("main", "main"),
            ("_Zgarbage", "_Zgarbage"),
        ] {
            assert_eq!(name_of(symbol, symbol), name);
        }
        assert_eq!(name_of("_ZN3foo3barEi", "foo::bar(int)"), "foo::bar(int)");
    }

    #[test]
    fn what_is_carried_prints_what_the_installed_one_does() {
        let Some(installed) = find() else {
            panic!("the tests' set-up installs one");
        };
        let python = installed.with_file_name("python3");
        let path = Path::new("/bin/true");
        let installed = told_by(Command::new(installed).arg(path), path).unwrap();
        // The first Python that there is.
        let pythons = ["/nowhere/python3", python.to_str().unwrap()];
        let carried = told_by_carried(&pythons, path).unwrap();
        let names = |symbols: &[Symbol]| -> Vec<String> {
            symbols.iter().map(|symbol| symbol.name.clone()).collect()
        };
        assert!(!installed.is_empty());
        let nowhere = told_by_carried(&pythons[..1], path).unwrap_err();
        assert!(nowhere.is_missing(), "{nowhere}");
        assert_eq!(names(&carried), names(&installed));
    }
}
