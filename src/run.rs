//! `corehop run`: starts a program with the hops of a plan, or with posted system calls, without a
//! patched file.
//!
//! The program gets what patched files would hold as an open file in memory. It gets the runtime,
//! another such file, as the first library in LD_PRELOAD. The runtime puts the hooks in place
//! before main(). corehop then becomes the program, so signals, exit code, and process id are those
//! of the program. Rejected: to stay as a parent that traces its child, because no debugger could
//! then trace it.

use crate::console;
use crate::failure::{Exit, Failure};
use crate::plan_to_hook::plan_to_hook;
use crate::posted_calls::checked;
use crate::progress::during;
use clap::Args;
use corehop_measure::server::tunables_here;
use corehop_patcher::InMemory;
use corehop_support::processes::find;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Start a program with the hops of a plan, or with posted system calls; no file changes
///
/// The hooks are put in place in memory before main(). Posted system calls are made on another core
/// or in batches; they need no plan.
///
/// The program uses the environment variables of a patched one: COREHOP_BACKEND, COREHOP_CPUS,
/// COREHOP_STATS, and others (docs/reference/environment.md).
///
/// The program starts with all hooks or not at all. Otherwise corehop prints the reason and exits
/// with code 5. Every library that the plan names must be loaded when the program starts. Forked
/// workers keep their hooks; other programs that it starts have none.
#[derive(Args)]
#[command(after_help = "\
Example: corehop run --plan split.toml -- redis-server --port 7000
         COREHOP_BACKEND=count COREHOP_STATS=hops.json corehop run --plan split.toml -- mariadbd
         corehop run --system-calls read,write,poll@batch -- mariadbd")]
pub struct Arguments {
    /// Plan, as `corehop partition` writes it
    #[arg(long, value_name = "FILE", required_unless_present = "system_calls")]
    plan: Option<PathBuf>,
    /// System calls to post, and where to make them, such as recv,send,poll@batch
    ///
    /// The names are those of libc. `read,write@1` makes them on core 1 of the plan.
    /// `read,write@batch` makes them in batches by io_uring. `read,write@batch:1` leaves them to a
    /// kernel thread on core 1. `read,write@yield` lets other threads run first; the calls stay
    /// where they are.
    ///
    /// It sets COREHOP_SYSCALLS, and the tunable of libc that carriers need
    /// (docs/reference/system-calls.md).
    #[arg(long, value_name = "CALLS@WHERE", value_parser = checked)]
    system_calls: Option<String>,
    /// Start the program without hooks if they cannot be put in place
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
