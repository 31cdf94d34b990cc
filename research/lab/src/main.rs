//! `corehop-lab`: experiments that are built on corehop but are not part of making a server faster.
//!
//! Its subcommands follow the rules of corehop's: exit codes, messages, JSON with a schema.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use clap::{CommandFactory, Parser, Subcommand};
use commands::{characterize, cohorts, fleet, kernel_model, kth_calls, pollute, schema};
use corehop::terminal::console::Verbosity;
use corehop::{configuration, end_with_the_reader, failed, parsed};
use corehop_support::processes::fail_writes_beyond_file_limit;
use std::process::ExitCode;

/// Experiments that stand on corehop: classes of lines, pollute buffers, cohorts, and others
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    verbosity: Verbosity,
    /// Read options from this file. Default: corehop.toml in the working directory, if it is there
    /// and nobody else can write it (docs/reference/configuration.md)
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<std::path::PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    Characterize(characterize::Arguments),
    Cohorts(cohorts::Arguments),
    Fleet(fleet::Arguments),
    KernelModel(kernel_model::Arguments),
    KthCalls(kth_calls::Arguments),
    Pollute(pollute::Arguments),
    Schema(schema::Arguments),
}

fn main() -> ExitCode {
    let words = match configuration::completed(std::env::args_os(), &Cli::command()) {
        Ok(words) => words,
        Err(failure) => return failed(&failure),
    };
    // The file named by `config` has already been read.
    let Cli {
        command,
        verbosity,
        config: _,
    } = parsed(words);
    verbosity.keep_to();
    end_with_the_reader();
    fail_writes_beyond_file_limit();
    let outcome = match command {
        Command::Characterize(arguments) => characterize::run(&arguments),
        Command::Cohorts(arguments) => cohorts::run(&arguments),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::KernelModel(arguments) => kernel_model::run(&arguments),
        Command::KthCalls(arguments) => kth_calls::run(&arguments),
        Command::Pollute(arguments) => pollute::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
    };
    outcome.map_or_else(|failure| failed(&failure), |()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }
}
