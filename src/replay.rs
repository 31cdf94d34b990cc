//! `corehop replay`: counts what a simulated machine misses, with and without a plan.
//!
//! The model is the crate `corehop-simulator`; this file is its command line. For people a plan is
//! shown beside everything on one core, which is a second replay on a second host core; scripts
//! get the plan's counts alone, and ask without a plan for the others.

mod detail;
mod table;

use crate::failure::{Exit, Failure};
use crate::open::open;
use crate::progress::Bar;
use crate::requests::{RequestList, request_list};
use clap::Args;
use corehop_partitioner::progress::Progress;
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Split, replay};
use corehop_traces::Trace;
use detail::{DetailArguments, Told};
use std::path::{Path, PathBuf};

/// Replay a trace through a simulated machine
#[derive(Args)]
#[command(after_help = "\
Example: corehop replay bank.trace --plan split.toml --warm-up 90")]
pub struct Arguments {
    /// The trace to replay
    trace: PathBuf,
    /// The machine to simulate: a bundled name, `host` for this one, or a machine file
    #[arg(long, value_name = "NAME|FILE", default_value = "xeon-e5-2620-v4")]
    machine: String,
    /// Move threads as this plan says; shown beside everything on one core
    #[arg(long, value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// Replay these requests only, counted from 0, such as 3,5-9
    #[arg(long, value_name = "LIST", value_parser = request_list)]
    requests: Option<RequestList>,
    /// Let so many requests run before counting starts
    #[arg(long, value_name = "REQUESTS", default_value_t = 0)]
    warm_up: usize,
    #[command(flatten)]
    detail: DetailArguments,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Replays of the same requests on the same machine.
struct Report<'a> {
    machine: &'a Machine,
    trace: &'a Path,
    warm_up: usize,
    /// Everything on one core.
    baseline: Option<Replay>,
    /// As the plan says.
    plan: Option<Replay>,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let machine = Machine::named_or_path(&arguments.machine)?;
    let plan = arguments
        .plan
        .as_deref()
        .map(corehop_plans::read)
        .transpose()?;
    let trace = open(&arguments.trace)?;
    let about_plan = |error| about(arguments.plan.as_deref(), error);
    let split = match &plan {
        Some(plan) => {
            let split = Split::from_plan(plan, trace.modules(), trace.functions());
            Some(split.map_err(about_plan)?)
        }
        None => None,
    };
    let requests = arguments.requests.as_ref();
    let requests = requests.map(|list| list.of(trace.requests().len()));
    let replays = if split.is_some() && !arguments.json {
        2
    } else {
        1
    };
    let executions = requests
        .is_none()
        .then(|| trace.execution_count() * replays);
    let bar = Bar::new();
    bar.begin("replaying", executions);
    let progress = |executions| bar.advance(executions);
    let options = ReplayOptions {
        requests,
        warm_up_requests: arguments.warm_up,
        progress: Some(&progress),
    };
    let run = |split: &Split| {
        replay(&trace, &machine, split, &options).map_err(|error| match error {
            Error::TooManyCores { .. } => about_plan(error),
            _ => about(Some(&arguments.trace), error),
        })
    };
    let baseline = || {
        let wanted = split.is_none() || !arguments.json;
        wanted.then(|| run(&Split::default())).transpose()
    };
    let (replayed, baseline) = rayon::join(|| split.as_ref().map(run).transpose(), baseline);
    bar.end();
    let (replayed, baseline) = (replayed?, baseline?);
    let in_detail = || {
        bar.begin("replaying in detail", executions.map(|all| all / replays));
        let told = arguments
            .detail
            .tell(&trace, &machine, plan.as_ref(), split, &options);
        bar.end();
        told
    };
    let told = arguments.detail.detail.then(in_detail).transpose()?;
    let report = Report {
        machine: &machine,
        trace: &arguments.trace,
        warm_up: arguments.warm_up,
        baseline,
        plan: replayed,
    };
    show(&report, &trace, told.as_ref(), arguments);
    Ok(())
}

fn show(report: &Report<'_>, trace: &Trace, told: Option<&Told>, arguments: &Arguments) {
    if arguments.json {
        let mut object = json(report);
        for (key, value) in told.iter().flat_map(|told| detail::keys(trace, told)) {
            object[key] = value;
        }
        println!("{object}");
        return;
    }
    print!("{}", table::render(report));
    if let Some(told) = told {
        print!("{}", detail::render(trace, told, arguments.detail.top));
    }
}

/// Names the file at fault where the error itself names none.
fn about(file: Option<&Path>, error: Error) -> Failure {
    match (file, &error) {
        (Some(file), error) if !matches!(error, Error::Trace(_)) => {
            Failure::new(Exit::Input, format!("{}: {error}", file.display()))
        }
        _ => error.into(),
    }
}

fn json(report: &Report<'_>) -> serde_json::Value {
    let replay = report.plan.as_ref().or(report.baseline.as_ref());
    let replay = replay.expect("one of them was replayed");
    serde_json::json!({
        "machine": report.machine.name,
        "trace": report.trace,
        "cores": replay.per_core.len(),
        "accesses": replay.accesses,
        "hops": replay.hops,
        "counters": replay.counters,
    })
}
