//! The functions of a binary, as the symbolizer (a Python program of its own) prints them.
//!
//! It is found beside this build, so that a checkout needs no installation, or in PATH; where it is
//! in neither, a Python 3.11 or newer with pyelftools runs the one that this crate carries
//! (`carried.rs`). It keeps what it has read by build id, so asking twice costs a fraction of a
//! second. Rust's names are made readable here, by the demangler that Rust's own tools use.
//!
//! A Python that looks for modules in the working directory runs what lies there, and whoever is
//! asked to look at a server's folder may be root. So none that is started here does.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod carried;
mod error;

pub use error::Error;

use corehop_processes::installed;
use serde::Deserialize;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

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
pub fn of(path: &Path) -> Result<Vec<Symbol>, Error> {
    match find() {
        Some(program) => told_by(Command::new(program).arg(path), path),
        None => carried::told(path),
    }
}

/// What the symbolizer says of `path`, run by `command`.
fn told_by(command: &mut Command, path: &Path) -> Result<Vec<Symbol>, Error> {
    // An empty part of PYTHONPATH is the working directory; others may name it too.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PYTHON") {
            command.env_remove(name);
        }
    }
    // In a process group of its own, so that a Ctrl-C meant for a recording does not cut it short.
    let output = command.process_group(0).output();
    let program = || command.get_program().into();
    let output = output.map_err(|source| Error::Start {
        program: program(),
        source,
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refusal(&said, output.status, path));
    }
    let parsed: Result<Output, _> = serde_json::from_slice(&output.stdout);
    let readable = |output: Output| output.functions.into_iter().map(Symbol::readable).collect();
    parsed.map(readable).map_err(|source| Error::Output {
        program: program(),
        path: path.into(),
        source,
    })
}

/// Why there are no functions of `path`, where a symbolizer ended so after saying so.
fn refusal(said: &str, status: ExitStatus, path: &Path) -> Error {
    let reason = match said.split_once("corehop-symbolizer: ") {
        Some((_, problem)) => problem.trim().to_owned(),
        // It did not come to speak: no module, too old a Python, no Python at all.
        None if status.code().is_some() => {
            let last = said.trim().lines().last().map(str::to_owned);
            return Error::Unusable {
                said: last.unwrap_or_else(|| status.to_string()),
            };
        }
        None => format!("the symbolizer ended by {status}"),
    };
    Error::Refused {
        path: path.into(),
        reason,
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

    #[test]
    fn a_symbolizer_that_does_not_come_to_speak_is_missing() {
        let refused = |script: &str| {
            told_by(Command::new("/bin/sh").args(["-c", script]), Path::new("f")).unwrap_err()
        };
        for script in [
            "echo 'ModuleNotFoundError: no elftools' >&2; exit 1",
            "echo 'Traceback' >&2; echo 'SyntaxError: invalid syntax' >&2; exit 1",
            "exit 127",
        ] {
            let failure = refused(script);
            assert!(failure.is_missing(), "{failure}");
            assert!(
                failure
                    .to_string()
                    .starts_with("the symbolizer does not run: ")
            );
        }
        let failure =
            refused("echo 'corehop-symbolizer: f: not an ELF file; name one' >&2; exit 3");
        assert!(!failure.is_missing());
        assert_eq!(
            failure.to_string(),
            "no functions of f: f: not an ELF file; name one"
        );
        assert!(!refused("kill -KILL $$").is_missing());
    }
}
