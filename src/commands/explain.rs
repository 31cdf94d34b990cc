//! `corehop explain`: shows why a plan reduces misses, or why it does not.
//!
//! The figures come from `corehop_partitioner::attribution`. This file is their command line, and
//! `text` prints them as tables.

mod modes;
mod text;
mod throughput;

use crate::failure::Failure;
use crate::options::addressing::AddressingOptions;
use crate::options::jobs::Jobs;
use crate::options::machines;
use crate::terminal::console;
use crate::terminal::line::Lines;
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::attribution::{Question, json};
use std::path::PathBuf;

/// Explain a plan: show which misses change by core, by function, and by hop
///
/// It replays all complete requests on one core and with the plan. The tables show the load of each
/// core, predicted throughput, working sets, lines that stores invalidate, and what each hop saves.
/// docs/reference/search.md describes them.
#[derive(Args)]
#[command(after_help = "Example: corehop explain --plan split.toml bank.trace")]
pub struct Arguments {
    /// Trace of the server; default: the bundled sample (MariaDB under TPC-C)
    trace: Option<PathBuf>,
    /// Plan to explain
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,
    /// Machine to simulate: a bundled name, `host`, or a TOML file
    ///
    /// Default: the machine of the plan, or the first of several.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Simulation")]
    machine: Option<String>,
    /// Number of requests to replay before counting starts
    ///
    /// Default: half of the requests that the plan was not searched on; only these are then
    /// replayed.
    #[arg(long, value_name = "REQUESTS", help_heading = "Simulation")]
    warm_up: Option<usize>,
    /// Cycles from an answer to the next request of the connection, for the throughput table
    #[arg(
        long,
        value_name = "CYCLES",
        default_value_t = 0,
        help_heading = "Simulation"
    )]
    think_time: u64,
    /// Maximum number of functions in each table of functions
    #[arg(long, value_name = "FUNCTIONS", default_value_t = 10)]
    top: usize,
    #[command(flatten)]
    taken: AddressingOptions,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.jobs.keep_to()?;
    let plan = corehop_plan::read(&arguments.plan)?;
    let named = arguments.machine.as_deref();
    let machine = machines::of_plan(&arguments.plan, &plan, named)?;
    let (trace, trace_name) = arguments
        .taken
        .open_or_bundled(arguments.trace.as_deref())?;
    let question = Question {
        trace: &trace,
        trace_name: &trace_name,
        machine: &machine,
        plan: &plan,
        plan_path: &arguments.plan,
        warm_up: arguments.warm_up,
        neighbours: true,
        think_time_cycles: arguments.think_time,
    };
    let explanation = question
        .answer(&Bar::new())
        .map_err(|error| Failure::from(error).of_trace(&trace_name))?;
    match arguments.json {
        true => console::print(&Lines::of_json(&json::render(&explanation, arguments.top)))?,
        false => console::print(&text::render(&explanation, arguments.top))?,
    }
    Ok(())
}
