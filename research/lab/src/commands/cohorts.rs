//! `corehop-lab cohorts`: cohort scheduling, simulated, and in a patched program.
//!
//! The schedulers and the runtime are in this crate's library; this file has the options. A
//! simulation is corehop's timed replay with two more schedulers.

use clap::{Args, Subcommand};
use corehop::commands::replay::timed::{self, Asked, TimedArguments};
use corehop::failure::{Exit, Failure};
use corehop::options::addressing::AddressingOptions;
use corehop::options::jobs::Jobs;
use corehop::options::translation::TranslationOptions;
use corehop::terminal::console;
use corehop_lab::cohorts::{LIBRARY, schedulers};
use corehop_support::atomic_file::{Output, PUBLIC};
use std::path::PathBuf;

/// Let cores run threads of one hook in a row: simulated, or in a patched program
///
/// research/cohorts.md describes both.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Simulate(Box<Simulate>),
    Install(Install),
}

/// Simulate connections over time, with cohorts among the schedulers
///
/// It is `corehop replay --timed` with the schedulers split-cohort[=B] and cohort[=B].
#[derive(Args)]
#[command(after_help = "\
Example: corehop-lab cohorts simulate bank.trace --plan split.toml --connections 4,8,16 \\
             --scheduler split,split-cohort=4,split-cohort=16")]
struct Simulate {
    /// Trace to replay
    // The presence of this argument tells the other options that the replay is timed.
    #[arg(id = "timed", value_name = "TRACE")]
    trace: PathBuf,
    /// Machine to simulate: a bundled name, `host`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "xeon-e5-2620-v4")]
    machine: String,
    /// Plan by which threads hop
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// Number of requests to replay before counting starts
    ///
    /// Default: as many as the connections have in the trace.
    #[arg(long, value_name = "REQUESTS")]
    warm_up: Option<usize>,
    #[command(flatten)]
    over_time: TimedArguments,
    #[command(flatten)]
    taken: AddressingOptions,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Give a patched program the runtime that runs cohorts if COREHOP_COHORT is set
///
/// It replaces the runtime that `corehop patch` wrote next to the program, for all programs there.
/// `corehop patch --force` brings that back.
#[derive(Args)]
#[command(after_help = "\
Example: corehop patch --plan split.toml /usr/sbin/mariadbd -o mariadbd.hop
         corehop-lab cohorts install mariadbd.hop
         COREHOP_BACKEND=carrier COREHOP_COHORT=8 ./mariadbd.hop")]
struct Install {
    /// Patched program
    program: PathBuf,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Simulate(arguments) => simulate(arguments),
        Command::Install(arguments) => install(arguments),
    }
}

fn simulate(arguments: &Simulate) -> Result<(), Failure> {
    arguments.jobs.keep_to()?;
    let asked = Asked {
        trace: &arguments.trace,
        taken: &arguments.taken,
        translation: &TranslationOptions::default(),
        machine: &arguments.machine,
        plan: arguments.plan.as_deref(),
        warm_up: arguments.warm_up,
        json: arguments.json,
        schedulers: &schedulers(),
    };
    timed::run(&arguments.over_time, &asked)
}

fn install(arguments: &Install) -> Result<(), Failure> {
    let runtime = arguments.program.with_file_name(corehop_runtime::NAME);
    if !runtime.is_file() {
        let message = format!("{}: there is no runtime", runtime.display());
        let remedy = "name a program that this version's `corehop patch` wrote";
        return Err(Failure::new(Exit::Input, message).remedy(remedy));
    }
    Output::at(&runtime, true)?.write(LIBRARY, PUBLIC)?;
    let name = runtime.display();
    console::say(&format!(
        "{name}: set COREHOP_COHORT=8 to run threads of one hook in a row"
    ));
    Ok(())
}
