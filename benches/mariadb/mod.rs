//! mariadbd with TPC-C's tables, for the benches that start it.
//!
//! The tables are created once, natively, and every server starts with a copy of them. The load is
//! the command of loads/tpcc, wherever a bench has built it.

mod data;

pub use data::*;

use crate::started::terminate;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Creates a data directory with the load's tables, in a folder that has none yet.
pub fn make_tables(folder: &Path, load: &Path) -> Outcome<()> {
    make_data(folder, "")?;
    let words = mariadbd(folder);
    let mut server = Command::new(installed::file(&words[0]));
    server.args(&words[1..]).stdout(Stdio::null());
    let mut server = server.stderr(Stdio::null()).spawn()?;
    let tables = wait(load, &socket(folder), 60).and_then(|()| {
        tpcc(
            load,
            &["load", "--scale", "20", "--seed", "1"],
            &socket(folder),
        )
    });
    terminate(&server);
    server.wait()?;
    tables.map(|_| ())
}

/// Copies the data directory of one folder into another.
pub fn copy_tables(from: &Path, to: &Path) -> Outcome<()> {
    let mut copy = Command::new("cp");
    succeed(copy.arg("-r").arg(from.join("data")).arg(to))?;
    Ok(())
}

/// Returns the socket of a folder's server.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// Runs a subcommand of the load.
pub fn tpcc(load: &Path, words: &[&str], socket: &Path) -> Outcome<Vec<u8>> {
    let mut command = Command::new(load);
    Ok(succeed(command.args(words).arg("--socket").arg(socket))?)
}

/// Waits until a server answers.
pub fn wait(load: &Path, socket: &Path, seconds: u32) -> Outcome<()> {
    let words = ["wait", "--max-seconds", &seconds.to_string()];
    tpcc(load, &words, socket).map(|_| ())
}
