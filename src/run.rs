//! `corehop run`: starts a program hopping as a plan says, without a patched file.
//!
//! What patched files would hold goes to the program as an open file in memory, and the runtime,
//! another one, as the first library in LD_PRELOAD; the runtime puts the hooks in place before
//! main(). corehop then becomes the program, so signals, exit code and process id are its own.
//! Rejected: staying as a parent that traces its child, which stops every debugger from doing so.

use crate::failure::{Exit, Failure};
use clap::Args;
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Start a program with a plan's hops put in place in memory; no file is changed
///
/// The program takes the same variables as a patched one: COREHOP_BACKEND, COREHOP_CPUS,
/// COREHOP_STATS and the others. It starts with all hooks in place, or not at all: then the reason
/// is on standard error and the exit code is 5. Every library that the plan names must be loaded
/// when the program starts. Forked workers keep their hooks; other programs that it starts have
/// none.
#[derive(Args)]
pub struct Arguments {
    /// The plan, as `corehop partition` writes it
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// The program, looked for on PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the subcommand; it returns only if the program could not be started.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = corehop_plans::read(&arguments.plan)?;
    let program = find(&arguments.command[0])?;
    let handed = corehop_patcher::hand_over(&program, &plan)?;
    let handed = in_memory("corehop-hooks", &handed)?;
    let runtime = in_memory("corehop-runtime", corehop_runtime::LIBRARY)?;
    let mut preload = OsString::from(format!("/proc/self/fd/{}", runtime.as_raw_fd()));
    if let Some(users) = std::env::var_os("LD_PRELOAD").filter(|users| !users.is_empty()) {
        preload.push(":");
        preload.push(users);
    }
    let files = format!("{},{}", handed.as_raw_fd(), runtime.as_raw_fd());
    let error = Command::new(&program)
        .arg0(&arguments.command[0])
        .args(&arguments.command[1..])
        .env("LD_PRELOAD", preload)
        .env("COREHOP_RUN", files)
        .exec();
    Err(Failure::new(
        Exit::Server,
        format!("{}: cannot be started: {error}", program.display()),
    ))
}

/// Where the shell would find a command.
fn find(command: &OsStr) -> Result<PathBuf, Failure> {
    if command.as_encoded_bytes().contains(&b'/') {
        return Ok(command.into());
    }
    let is_program = |path: &Path| {
        let metadata = path.metadata();
        metadata.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(command));
    places.find(|place| is_program(place)).ok_or_else(|| {
        let name = command.display();
        Failure::new(Exit::Input, format!("{name}: no such program on PATH"))
    })
}

/// A file without a name that the program inherits.
fn in_memory(name: &str, contents: &[u8]) -> Result<OwnedFd, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Missing, format!("{name}: no memory for it: {error}"))
    };
    // Kernels before 6.3 do not know the flag, and let such files be executed without it.
    let created = memfd_create(name, MemfdFlags::EXEC)
        .or_else(|_| memfd_create(name, MemfdFlags::empty()))
        .map_err(|error| failed(error.into()))?;
    let mut file = File::from(created);
    file.write_all(contents).map_err(failed)?;
    Ok(file.into())
}
