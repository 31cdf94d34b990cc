//! The command to record: found and checked before anything is started.

use super::binary::{Binary, Unfit};
use crate::failure::{Exit, Failure};
use corehop_processes::is_executable;
use std::path::PathBuf;

/// The server's program.
pub struct Program {
    /// As it is started: the name it was given by, looked up in PATH.
    pub path: PathBuf,
    /// The file itself, behind any links.
    pub resolved: PathBuf,
}

/// Finds the program `name` the way a shell does.
pub fn find(name: &str) -> Result<Program, Failure> {
    let path = corehop_processes::find(name.as_ref())?;
    let input = |message: String| Failure::new(Exit::Input, message);
    let resolved = path.canonicalize().map_err(|error| {
        input(format!("cannot start {}: {error}", path.display()))
            .remedy("name the server's program after --")
    })?;
    if !is_executable(&path) {
        let message = format!("{} is not an executable file", path.display());
        return Err(input(message).remedy("name the server's program after --"));
    }
    match Binary::read(&resolved) {
        Ok(_) => Ok(Program { path, resolved }),
        Err(Unfit::Unreadable(error)) => {
            let message = format!("cannot read {}: {error}", path.display());
            Err(input(message).remedy("recording needs the right to read the program"))
        }
        Err(Unfit::Script(interpreter)) => Err(input(format!(
            "{} is a script, which recording cannot follow",
            path.display()
        ))
        .remedy(format!(
            "name the program that it starts, or its interpreter: -- {interpreter} {} ...",
            path.display()
        ))),
        Err(Unfit::Foreign) => {
            let message = format!("{} is not an x86-64 ELF program", path.display());
            Err(input(message).remedy("corehop records x86-64 Linux servers only"))
        }
    }
}
