//! The subcommands of `corehop`: each parses its arguments, validates them, runs a stage of the
//! pipeline, and prints the result.

mod calibrate;
pub mod candidates;
mod check;
mod control;
mod diff;
mod doctor;
mod explain;
mod export;
mod functions;
mod import;
mod info;
mod manual;
mod measure;
mod optimize;
pub mod partition;
mod patch;
mod profile;
mod record;
pub mod replay;
mod report;
mod run;
mod sample;
pub mod schema;
mod screen;

use crate::failure::Failure;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Optimize(optimize::Arguments),
    Screen(screen::Arguments),
    Record(record::Arguments),
    Control(control::Arguments),
    Info(info::Arguments),
    Check(check::Arguments),
    Sample(sample::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Diff(diff::Arguments),
    Replay(replay::Arguments),
    Profile(profile::Arguments),
    Functions(functions::Arguments),
    Candidates(candidates::Arguments),
    Partition(partition::Arguments),
    Explain(explain::Arguments),
    Report(report::Arguments),
    Patch(patch::Arguments),
    Run(run::Arguments),
    #[command(alias = "verify")]
    Measure(measure::Arguments),
    Calibrate(calibrate::Arguments),
    Doctor(doctor::Arguments),
    Schema(schema::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl Command {
    /// Runs the command. The definition of the whole command line is what manual pages are made of.
    pub(crate) fn run(self, definition: clap::Command) -> Result<(), Failure> {
        match self {
            Command::Optimize(arguments) => optimize::run(&arguments),
            Command::Screen(arguments) => screen::run(&arguments),
            Command::Record(arguments) => record::run(&arguments),
            Command::Control(arguments) => control::run(&arguments),
            Command::Info(arguments) => info::run(&arguments),
            Command::Check(arguments) => check::run(&arguments),
            Command::Sample(arguments) => sample::run(&arguments),
            Command::Export(arguments) => export::run(&arguments),
            Command::Import(arguments) => import::run(&arguments),
            Command::Diff(arguments) => diff::run(&arguments),
            Command::Replay(arguments) => replay::run(&arguments),
            Command::Profile(arguments) => profile::run(&arguments),
            Command::Functions(arguments) => functions::run(&arguments),
            Command::Candidates(arguments) => candidates::run(&arguments),
            Command::Partition(arguments) => partition::run(&arguments),
            Command::Explain(arguments) => explain::run(&arguments),
            Command::Report(arguments) => report::run(&arguments),
            Command::Patch(arguments) => patch::run(&arguments),
            Command::Run(arguments) => run::run(&arguments),
            Command::Measure(arguments) => measure::run(&arguments),
            Command::Calibrate(arguments) => calibrate::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Schema(arguments) => schema::run(&arguments),
            Command::Completions(arguments) => manual::complete(&arguments, definition),
            Command::Man(arguments) => manual::write(&arguments, definition),
        }
    }
}
