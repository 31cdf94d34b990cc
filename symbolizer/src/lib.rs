//! The functions of a binary, from the symbolizer (a separate Python program).
//!
//! The symbolizer next to this build is used, so that a checkout needs no installation, or else the
//! one in PATH. If there is neither, a Python 3.11 or newer with pyelftools runs the one embedded
//! in this crate (`carried.rs`). Results are cached, so a second query takes a fraction of a
//! second. Rust names are demangled here, by the demangler of Rust's own tools. Functions shown to
//! users get their source lines here (`source.rs`). Variables and sections of a binary are read
//! here (`data.rs`), and their members (`members.rs`).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod carried;
mod data;
mod error;
mod members;
mod output;
mod source;
mod symbol;

pub use data::{DataLayout, DataSymbol, Section};
pub use error::Error;
pub use members::{Members, VariableType};
pub use source::{Frame, SourceLine, SourceLines};
pub use symbol::{Symbol, demangled};

use corehop_support::processes::python_program;
use output::{Each, Told, told_by};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the functions of the ELF file at `path`, sorted by offset.
pub fn of(path: &Path) -> Result<Vec<Symbol>, Error> {
    let told = read_each(&[path])?.remove(0)?;
    Ok(told.functions)
}

/// Returns the functions of several files. A symbolizer takes 0.2 s to start, and less to read a
/// cached file, so one process reads them all.
pub fn of_each(paths: &[&Path]) -> Vec<Result<Vec<Symbol>, Error>> {
    match paths {
        [] => Vec::new(),
        [path] => vec![of(path)],
        _ => match read_each(paths) {
            Ok(each) => {
                let functions = |told: Result<Told, Error>| told.map(|told| told.functions);
                each.into_iter().map(functions).collect()
            }
            // It failed at one of them, or accepts only one file.
            Err(_) => paths.iter().map(|path| of(path)).collect(),
        },
    }
}

/// Runs the symbolizer on these files.
fn read_each(paths: &[&Path]) -> Result<Each, Error> {
    match find() {
        Some(program) => told_by(Command::new(program).args(paths), paths),
        None => carried::told(paths),
    }
}

/// Returns `$COREHOP_SYMBOLIZER`, the symbolizer in the checkout's environment, or one in PATH.
fn find() -> Option<PathBuf> {
    python_program("corehop-symbolizer", "COREHOP_SYMBOLIZER")
}
