//! `corehop run`: starts a program hopping as a plan says, or posting system calls, without a
//! patched file.
//!
//! What patched files would hold goes to the program as an open file in memory, and the runtime,
//! another one, as the first library in LD_PRELOAD; the runtime puts the hooks in place before
//! main(). corehop then becomes the program, so signals, exit code and process id are its own.
//! Rejected: staying as a parent that traces its child, which stops every debugger from doing so.

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

/// Start a program with a plan's hops put in place in memory; no file is changed
///
/// Or with system calls posted to another core or made in batches, with a plan or without one.
///
/// The program takes the same variables as a patched one: COREHOP_BACKEND, COREHOP_CPUS,
/// COREHOP_STATS and the others. It starts with all hooks in place, or not at all: then the reason
/// is on standard error and the exit code is 5. Every library that the plan names must be loaded
/// when the program starts. Forked workers keep their hooks; other programs that it starts have
/// none.
#[derive(Args)]
#[command(after_help = "\
Example: corehop run --plan split.toml -- redis-server --port 7000
         COREHOP_BACKEND=count COREHOP_STATS=hops.json corehop run --plan split.toml -- mariadbd
         corehop run --system-calls read,write,poll@batch -- mariadbd")]
pub struct Arguments {
    /// The plan, as `corehop partition` writes it
    #[arg(long, value_name = "FILE", required_unless_present = "system_calls")]
    plan: Option<PathBuf>,
    /// Post these calls of libc: `read,write@1` on core 1 of the plan, `read,write@batch` many at a
    /// time by io_uring, `read,write@batch:1` by a thread of the kernel on core 1,
    /// `read,write@yield` where they are (docs/reference/system-calls.md). Sets COREHOP_SYSCALLS,
    /// and the tunable of libc that carriers need
    #[arg(long, value_name = "CALLS@WHERE", value_parser = checked)]
    system_calls: Option<String>,
    /// Have a core go on with threads that came by the same hook, up to so many in turn, before it
    /// takes one that came by another (docs/reference/carrier.md, *Cohorts*). Sets COREHOP_COHORT,
    /// and the tunable of libc that carriers need
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    cohort: Option<u32>,
    /// Where the hooks cannot be put in place, as after an upgrade of the program, say why and
    /// start it without them
    #[arg(long)]
    or_unhooked: bool,
    /// The program, looked for on PATH, and its arguments
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
        }
        if let Some(threads) = arguments.cohort {
            command.env("COREHOP_COHORT", threads.to_string());
        }
        if arguments.system_calls.is_some() || arguments.cohort.is_some() {
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
