//! The functions of a binary, as the symbolizer (a Python program of its own) prints them.
//!
//! It is found beside this build, so that a checkout needs no installation, or in PATH; where it is
//! in neither, a Python 3.11 or newer with pyelftools runs the one that this crate carries
//! (`carried.rs`). It keeps what it has read, so asking twice costs a fraction of a
//! second. Rust's names are made readable here, by the demangler that Rust's own tools use, and
//! functions that are shown to people get the source lines that they begin at (`source.rs`). What a
//! binary has in memory besides code is read here (`data.rs`).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod carried;
mod data;
mod error;
mod output;
mod source;
mod symbol;

pub use data::{DataLayout, DataSymbol, Section};
pub use error::Error;
pub use source::{Frame, SourceLine, SourceLines};
pub use symbol::{Symbol, demangled};

use corehop_support::processes::python_program;
use output::{Each, Told, told_by};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The functions of the ELF file at `path`, sorted by offset.
pub fn of(path: &Path) -> Result<Vec<Symbol>, Error> {
    let told = read_each(&[path])?.remove(0)?;
    Ok(told.functions)
}

/// Those of several files. A symbolizer takes a fifth of a second to start, and of a file that it
/// has seen before a fraction of that to read: one reads them all.
pub fn of_each(paths: &[&Path]) -> Vec<Result<Vec<Symbol>, Error>> {
    match paths {
        [] => Vec::new(),
        [path] => vec![of(path)],
        _ => match read_each(paths) {
            Ok(each) => {
                let functions = |told: Result<Told, Error>| told.map(|told| told.functions);
                each.into_iter().map(functions).collect()
            }
            // It failed at one of them, or takes but one.
            Err(_) => paths.iter().map(|path| of(path)).collect(),
        },
    }
}

/// All that the symbolizer tells of these files.
fn read_each(paths: &[&Path]) -> Result<Each, Error> {
    match find() {
        Some(program) => told_by(Command::new(program).args(paths), paths),
        None => carried::told(paths),
    }
}

/// `$COREHOP_SYMBOLIZER`, or the one in the checkout's environment, or any in PATH.
fn find() -> Option<PathBuf> {
    python_program("corehop-symbolizer", "COREHOP_SYMBOLIZER")
}
