//! `corehop run`: starts a program with the hops of a plan, or with asynchronous system calls,
//! without a patched file.
//!
//! The program receives the content of patched files as an open file in memory. It receives the
//! runtime as another such file, the first library in LD_PRELOAD. The runtime installs the hooks
//! before main(). corehop then becomes the program, so signals, exit code, and process id are those
//! of the program. Rejected: to stay as a parent that traces its child, because no debugger could
//! then trace it.

use crate::failure::{Exit, Failure};
use crate::plan_to_hook::plan_to_hook;
use crate::posted_calls::checked;
use crate::terminal::console;
use crate::terminal::progress::during;
use clap::Args;
use corehop_measure::server::tunables_here;
use corehop_patcher::InMemory;
use corehop_support::processes::find;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Start a program with the hops of a plan, or asynchronous system calls, without changing files
///
/// corehop installs the hooks in memory before main(). Asynchronous system calls run on another
/// core, or in batches by io_uring. They need no plan.
///
/// Environment variables control the hops, as in a patched copy. With COREHOP_BACKEND=auto, the
/// default, the program hops only while that makes it faster. If it starts with
/// COREHOP_CONTROL=FILE, `echo off >FILE` stops all its hops (docs/reference/environment.md).
///
/// If a hook cannot be installed, corehop prints the reason, exits with code 5, and does not start
/// the program. Every library that the plan names must be loaded when the program starts. Forked
/// processes keep the hooks; other programs that it starts have none.
#[derive(Args)]
#[command(after_help = "\
Example: corehop run --plan split.toml -- redis-server --port 7000
         COREHOP_BACKEND=count COREHOP_STATS=hops.json corehop run --plan split.toml -- mariadbd
         corehop run --system-calls read,write,poll@batch -- mariadbd")]
pub struct Arguments {
    /// Plan that `corehop partition` wrote
    #[arg(long, value_name = "FILE", required_unless_present = "system_calls")]
    plan: Option<PathBuf>,
    /// System calls to make asynchronously, and where, such as recv,send,poll@batch
    ///
    /// The names are those of libc. `read,write@1` makes the calls on core 1 of the plan.
    /// `read,write@batch` makes them in batches by io_uring, and `read,write@batch:1` by a kernel
    /// thread on core 1. `read,write@yield` first lets the other threads of the core run, and then
    /// makes the call on the same core.
    ///
    /// The option sets COREHOP_SYSCALLS, and the GLIBC_TUNABLES that the backend `carrier` needs
    /// (docs/reference/system-calls.md).
    #[arg(long, value_name = "CALLS@WHERE", value_parser = checked)]
    system_calls: Option<String>,
    /// Start the program without hooks if they cannot be installed
    ///
    /// This can happen after an upgrade of the program. corehop prints the reason.
    #[arg(long = "fallback-unpatched", alias = "or-unhooked")]
    or_unhooked: bool,
    /// Program, found in PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the subcommand; it returns only if the program could not be started.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let program = find(&arguments.command[0])?;
    let mut command = Command::new(&program);
    command
        .arg0(&arguments.command[0])
        .args(&arguments.command[1..]);
    let hooks = match hooks(arguments, &program) {
        Ok(hooks) => Some(hooks),
        Err(failure) if arguments.or_unhooked => {
            console::warn(&format!("{failure}: starting it without hooks"));
            None
        }
        Err(failure) => return Err(failure),
    };
    if let Some(hooks) = &hooks {
        hooks.hook(&mut command, None);
        if let Some(calls) = &arguments.system_calls {
            command.env("COREHOP_SYSCALLS", calls);
            command.env("GLIBC_TUNABLES", tunables_here());
        }
    }
    let error = command.exec();
    let message = format!("{}: cannot be started: {error}", program.display());
    Err(Failure::new(Exit::Server, message).remedy("start it without corehop first"))
}

fn hooks(arguments: &Arguments, program: &Path) -> Result<InMemory, Failure> {
    let Some(plan) = &arguments.plan else {
        return Ok(InMemory::without_plan(program)?.or_unhooked(arguments.or_unhooked));
    };
    let plan = plan_to_hook(plan)?;
    let hooks = during("analysing", || InMemory::new(program, &plan))?;
    Ok(hooks.or_unhooked(arguments.or_unhooked))
}
