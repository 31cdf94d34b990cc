//! `corehop`: record what a server touches, find where its threads should change core, patch it.
//!
//! Each subcommand is one file of this folder and one stage of the pipeline.

mod candidates;
mod check;
mod explain;
mod export;
mod failure;
mod info;
mod jobs;
mod line;
mod name;
mod number;
mod open;
mod partition;
mod patch;
mod progress;
mod record;
mod replay;
mod report;
mod requests;
mod run;
mod sample;
mod scope;
mod symbols;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(version, about, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
    Info(info::Arguments),
    Check(check::Arguments),
    Export(export::Arguments),
    Replay(replay::Arguments),
    Candidates(candidates::Arguments),
    Partition(partition::Arguments),
    Explain(explain::Arguments),
    Report(report::Arguments),
    Patch(patch::Arguments),
    Run(run::Arguments),
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  check or verify looked and found something wrong
  2  the command line makes no sense
  3  an input is missing, damaged or not what it should be
  4  an output cannot be written, or exists and --force was not given
  5  refused, because it would not be safe, or a plan that would not pay; of `run`: not started
  6  this machine lacks something (QEMU, the plugin, the symbolizer)
  7  the server that was started failed
  130  interrupted";

/// Lets a command end quietly when whoever reads its output has gone, as `head` does; Rust's
/// start-up code ignores the signal instead, and a failed print would then panic.
fn end_with_the_reader() {
    // SAFETY: no other thread runs yet, and the default action needs no handler to stay valid.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // A recording outlives whoever watches it.
    if !matches!(command, Command::Record(_)) {
        end_with_the_reader();
    }
    let outcome = match command {
        Command::Record(arguments) => record::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Candidates(arguments) => candidates::run(&arguments),
        Command::Partition(arguments) => partition::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Patch(arguments) => patch::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
