//! Where the programs that a bench starts are: installed on this machine, or in a folder that
//! `make bench-many-cores` packed.
//!
//! `COREHOP_PACKED` names such a folder. It has corehop's own programs in `bin`, and files of the
//! packing machine below `root`, by their paths there.

#![allow(dead_code)] // each bench is a separate crate and uses a part of this

use std::path::PathBuf;

/// Folder of corehop's own programs in a packed folder.
pub const BIN: &str = "bin";
/// Folder of the other files.
pub const ROOT: &str = "root";

/// Returns the packed folder, if programs are in one.
pub fn packed() -> Option<PathBuf> {
    std::env::var_os("COREHOP_PACKED").map(PathBuf::from)
}

/// Returns where a file is that an installed package has at this path.
pub fn file(path: &str) -> PathBuf {
    match packed() {
        Some(folder) => folder.join(ROOT).join(path.trim_start_matches('/')),
        None => path.into(),
    }
}

/// Returns the corehop command.
pub fn corehop() -> PathBuf {
    match packed() {
        Some(folder) => folder.join(BIN).join("corehop"),
        None => env!("CARGO_BIN_EXE_corehop").into(),
    }
}
