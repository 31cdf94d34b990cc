//! `corehop explain`: why a plan does what it does.
//!
//! The figures come from `corehop_partitioner::attribution`. This file is their command line, and
//! `text` lays them out as tables.

mod modes;
mod text;
mod throughput;

use crate::console;
use crate::failure::Failure;
use crate::jobs::Jobs;
use crate::line::Lines;
use crate::machines;
use crate::progress::Bar;
use crate::taken::Taken;
use clap::Args;
use corehop_partitioner::attribution::{Question, json};
use corehop_partitioner::machine_list::{first, for_plan};
use std::path::PathBuf;

/// Say why a plan does what it does
#[derive(Args)]
#[command(after_help = "Example: corehop explain --plan split.toml bank.trace")]
pub struct Arguments {
    /// A trace of the server; the bundled sample (MariaDB under TPC-C) when none is named.
    trace: Option<PathBuf>,
    /// The plan to explain
    #[arg(long, value_name = "PLAN")]
    plan: PathBuf,
    /// The machine to simulate: a bundled name, `host`, or a TOML file. Default: the plan's
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Let so many requests run before counting starts. Default: half of them
    #[arg(long, value_name = "REQUESTS")]
    warm_up: Option<usize>,
    /// Time between an answer and the connection's next request, for the table of throughput
    #[arg(long, value_name = "CYCLES", default_value_t = 0)]
    think_time: u64,
    /// How many functions the tables of functions have
    #[arg(long, value_name = "FUNCTIONS", default_value_t = 10)]
    top: usize,
    #[command(flatten)]
    taken: Taken,
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
    machines::tell_host([named.unwrap_or(first(&plan.machine).0)]);
    let machine = for_plan(&plan, named)?;
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
