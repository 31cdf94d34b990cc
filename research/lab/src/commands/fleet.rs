//! `corehop-lab fleet`: searches many traces for many machines, with workers on one or many
//! computers.
//!
//! Dask and fsspec handle scheduling, lost workers and remote files. This part is therefore a
//! Python program (`research/fleet/`), like the symbolizer. It is located in the same way
//! ([`program`]), and runs `corehop partition` for each search. It runs in a separate process
//! group. A Ctrl-C thus reaches this program, which asks it to end and lets it write its results.

mod program;

use clap::Args;
use corehop::failure::{Exit, Failure};
use corehop::terminal::console;
use corehop::terminal::interrupt;
use corehop::terminal::line::Lines;
use corehop_simulator::Machine;
use corehop_support::processes::{Process, end_with_this_process, installed};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Interval between checks for the end of the program, or for a signal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Search many traces for many machines as tasks on Dask, and compare which server gains where
///
/// The sweep file lists traces (files, patterns, or URLs for fsspec), machines, numbers of cores,
/// and objectives. Each combination is one `corehop partition`.
///
/// Results are kept. The same command does only what is missing, and tries failed searches again.
/// The folder of results gets results.parquet and index.html. Exit code 1 if some searches failed;
/// the table shows why.
#[derive(Args)]
#[command(after_help = "\
Example: corehop-lab fleet sweep.toml
         corehop-lab fleet sweep.toml --on tcp://head-node:8786")]
pub struct Arguments {
    /// Sweep file (research/fleet.md describes it)
    #[arg(required_unless_present = "list_machines")]
    sweep: Option<PathBuf>,
    /// Dask scheduler to use: its address, or the file that it wrote
    ///
    /// Default: worker processes on this machine.
    #[arg(long, value_name = "SCHEDULER")]
    on: Option<String>,
    /// Number of worker processes on this machine
    ///
    /// Default: one for each CPU.
    #[arg(long, value_name = "NUMBER", conflicts_with = "on",
          value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
    /// Number of threads of each search; results do not depend on it
    #[arg(long, value_name = "NUMBER", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// Folder for the results
    ///
    /// Default: the name of the sweep file, with the ending .results.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Print the bundled machines as a JSON object of their files' texts, and exit
    #[arg(long, exclusive = true)]
    list_machines: bool,
}

/// Runs the subcommand; if the other program has reported a failure, this one exits with the same
/// code.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(sweep) = &arguments.sweep else {
        let machines = Machine::bundled_files();
        let machines = machines.map(|(name, text)| (name.to_owned(), Value::from(text)));
        return console::print(&Lines::of_json(&machines.collect::<Map<_, _>>().into()));
    };
    let corehop = corehop()?;
    interrupt::listen()?;
    let mut command = program::command()?;
    command.arg("--corehop").arg(corehop);
    command.args(["--threads", &arguments.threads.to_string()]);
    if let Some(workers) = arguments.workers {
        command.args(["--workers", &workers.to_string()]);
    }
    if let Some(scheduler) = &arguments.on {
        command.arg(format!("--on={scheduler}"));
    }
    if let Some(output) = &arguments.output {
        command.arg("--output").arg(output);
    }
    command.arg("--").arg(sweep);
    let status = ended(&mut command)?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code),
        None => {
            let message = format!("the fleet's program ended by {status}");
            Err(Failure::new(Exit::Missing, message).remedy("what was done is kept: run it again"))
        }
    }
}

/// Returns the `corehop` next to this program, or the first in PATH.
fn corehop() -> Result<PathBuf, Failure> {
    let beside = std::env::current_exe().map(|this| this.with_file_name("corehop"));
    let found = beside.ok().filter(|path| path.is_file());
    let found = found.or_else(|| installed("corehop".as_ref()));
    found.ok_or_else(|| {
        Failure::new(
            Exit::Missing,
            "there is no corehop next to this program or in PATH",
        )
        .remedy("build it: `cargo build --release`")
    })
}

/// Returns how the program ended, after a signal or on its own.
fn ended(command: &mut Command) -> Result<ExitStatus, Failure> {
    end_with_this_process(command);
    let mut process =
        Process::spawn(command).map_err(|error| program::not_started(command, &error))?;
    loop {
        if let Some(status) = process.ended() {
            return Ok(status);
        }
        if interrupt::is_asked() {
            process.end(|| interrupt::count() > 1);
        } else {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
