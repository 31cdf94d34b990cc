//! `corehop replay`: counts the cache misses of simulated machines, with and without a plan.
//!
//! The crate `corehop-simulator` is the model; this file is its command line. A plan is compared
//! with a baseline, and machines with each other, in one pass over the trace. This costs less than
//! one replay for each.

mod at_fault;
mod counted;
mod detail;
mod json;
mod modes;
mod other_options;
mod posted;
mod table;
pub mod timed;
mod translation;
mod visits;

use crate::failure::{Exit, Failure};
use crate::options::addressing::AddressingOptions;
use crate::options::by_argument;
use crate::options::jobs::Jobs;
use crate::options::machines;
use crate::options::translation::TranslationOptions;
use crate::terminal::console;
use crate::terminal::line::Lines;
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::progress::Progress;
use corehop_plan::Plan;
use corehop_simulator::timing::SCHEDULERS;
use corehop_simulator::{Error, Machine, Replay, ReplayOptions, Setting, Split, replay_all};
use corehop_traces::Trace;
use counted::{Counted, Report};
use detail::{DetailArguments, Summary};
use posted::PostedArguments;
use std::path::PathBuf;
use timed::{Asked, TimedArguments};

pub use at_fault::about;
pub use counted::Baseline;
pub use other_options::{Opened, OtherOptions, Run};
pub use table::counted_requests;

/// Replay a trace through the caches of simulated machines, and count the misses
///
/// It reports accesses, misses of each level, hops, and cycles. With --plan it compares the plan
/// with a baseline. Without a plan it replays only the baseline.
///
/// Two options replace these tables: --timed simulates connections over time, and --system-calls
/// simulates asynchronous system calls.
#[derive(Args)]
#[command(after_help = "\
Example: corehop replay bank.trace --plan split.toml --warm-up 90
         corehop replay bank.trace --machine xeon-8480,epyc-9004,graviton3
         corehop replay bank.trace --tlb --huge-pages code
         corehop replay machine.trace --index physical
         corehop replay machine.trace --system-calls read,write@1 --system-calls all@batch
         corehop replay bank.trace --timed --plan split.toml --connections 1,2,4 --hop-cost 500")]
pub struct Arguments {
    /// Trace to replay
    trace: PathBuf,
    /// Machines to simulate: bundled names, `host` for this machine, or TOML files
    ///
    /// All of them are simulated in one pass over the trace. --detail, --timed, and --system-calls
    /// simulate one machine.
    #[arg(
        long,
        value_name = "NAME|FILE",
        value_delimiter = ',',
        default_value = "xeon-e5-2620-v4",
        help_heading = "Simulation"
    )]
    machine: Vec<String>,
    #[command(flatten)]
    run: Run,
    /// Number of requests to replay before counting starts
    ///
    /// Default: 0; with --timed, as many as the connections have in the trace.
    #[arg(long, value_name = "REQUESTS", help_heading = "Simulation")]
    warm_up: Option<usize>,
    #[command(flatten)]
    detail: DetailArguments,
    #[command(flatten)]
    translation: TranslationOptions,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    ///
    /// For several machines it is an array of objects.
    #[arg(long)]
    json: bool,
    /// Instead, simulate connections over time: report throughput, latency, and queues
    ///
    /// Each request runs as soon as its thread has a core (docs/reference/timed.md).
    #[arg(
        long,
        conflicts_with_all = ["detail", "requests", "baseline"],
        help_heading = "Timed replay"
    )]
    timed: bool,
    #[command(flatten)]
    over_time: TimedArguments,
    #[command(flatten)]
    posted: PostedArguments,
    #[command(flatten)]
    taken: AddressingOptions,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    check(arguments)?;
    arguments.jobs.keep_to()?;
    if arguments.timed {
        return arguments.timed();
    }
    let warm_up = arguments.warm_up.unwrap_or(0);
    machines::tell_host(arguments.machine.iter().map(String::as_str));
    if !arguments.posted.system_calls.is_empty() {
        return posted::run(&arguments.posted, &arguments.other_options());
    }
    let machines = arguments
        .machine
        .iter()
        .map(|name| Machine::named_or_path(name));
    let machines: Vec<Machine> = machines.collect::<Result<_, _>>()?;
    arguments.translation.check(&machines)?;
    let plan = arguments.run.plan.as_deref().map(corehop_plan::read);
    let plan = plan.transpose()?;
    let trace = arguments.taken.open(&arguments.trace)?;
    let page_sizes = arguments.translation.page_sizes(&trace)?;
    let split = |plan: &Plan| {
        Split::of_plan(plan, &trace).map_err(|error| about(arguments.run.plan.as_deref(), error))
    };
    let split = plan.as_ref().map(split).transpose()?;
    let requests = arguments.run.requests.as_ref();
    let requests = requests.map(|list| list.of(trace.requests().len()));
    let bar = Bar::new();
    let progress = |executions| bar.advance(executions);
    let options = ReplayOptions {
        requests,
        warm_up_requests: warm_up,
        progress: Some(&progress),
        page_sizes: page_sizes.as_ref(),
    };
    let executions = Some(options.executions(&trace));
    bar.begin("code blocks replayed", executions);
    let counted = count(&trace, &machines, split.as_ref(), &options, arguments);
    bar.end();
    let report = Report {
        trace: &arguments.trace,
        remarks: remarks(&trace),
        warm_up,
        baseline: arguments.run.baseline,
        counted: counted?,
    };
    let by_argument = split.clone().unwrap_or_default();
    let in_detail = || {
        let machine = &machines[0];
        let split = split.unwrap_or_else(|| arguments.run.baseline.split(&trace, machine, None));
        bar.begin("code blocks replayed in detail", executions);
        let told = arguments
            .detail
            .tell(&trace, machine, plan.as_ref(), &split, &options);
        bar.end();
        told
    };
    let told = arguments.detail.detail.then(in_detail).transpose()?;
    let of_trace = (&trace, &by_argument);
    say(arguments, &report, of_trace, told.as_ref())
}

impl Arguments {
    fn timed(&self) -> Result<(), Failure> {
        let asked = Asked {
            trace: &self.trace,
            taken: &self.taken,
            translation: &self.translation,
            machine: &self.machine[0],
            plan: self.run.plan.as_deref(),
            warm_up: self.warm_up,
            json: self.json,
            schedulers: SCHEDULERS,
        };
        timed::run(&self.over_time, &asked)
    }

    fn other_options(&self) -> OtherOptions<'_> {
        OtherOptions {
            trace: &self.trace,
            taken: &self.taken,
            machine: &self.machine[0],
            run: &self.run,
            warm_up: self.warm_up.unwrap_or(0),
            json: self.json,
        }
    }
}

fn say(
    arguments: &Arguments,
    report: &Report<'_>,
    (trace, split): (&Trace, &Split),
    told: Option<&Summary>,
) -> Result<(), Failure> {
    if arguments.json {
        let value = json::render(report, (trace, split), told);
        return console::print(&Lines::of_json(&value));
    }
    let mut text = table::render(report);
    by_argument::add(&mut text, split, trace);
    console::print(&text)?;
    match told {
        Some(told) => console::print(&detail::render(trace, told, arguments.detail.top)),
        None => Ok(()),
    }
}

fn check(arguments: &Arguments) -> Result<(), Failure> {
    let of_one = [
        (arguments.detail.detail, "--detail"),
        (arguments.timed, "--timed"),
        (!arguments.posted.system_calls.is_empty(), "--system-calls"),
    ];
    let of_one = of_one.into_iter().find(|(asked, _)| *asked);
    if let Some((_, option)) = of_one
        && arguments.machine.len() > 1
    {
        let message = format!("{option} works with one machine at a time");
        return Err(Failure::new(Exit::Usage, message).remedy("name one --machine"));
    }
    Ok(())
}

/// Replays the baseline, and the plan's split if there is one, on every machine in one pass.
fn count<'a>(
    trace: &Trace,
    machines: &'a [Machine],
    plan: Option<&Split>,
    options: &ReplayOptions<'_>,
    arguments: &Arguments,
) -> Result<Vec<Counted<'a>>, Failure> {
    let baseline = |machine| arguments.run.baseline.split(trace, machine, plan);
    let baselines: Vec<Split> = machines.iter().map(baseline).collect();
    let setting = |(machine, split)| Setting { machine, split };
    let mut settings: Vec<Setting<'_>> = machines.iter().zip(&baselines).map(setting).collect();
    settings.extend(machines.iter().zip(plan.into_iter().cycle()).map(setting));
    let replays = replay_all(trace, &settings, options).map_err(|error| match error {
        Error::TooManyCores { .. } => about(arguments.run.plan.as_deref(), error),
        _ => about(Some(&arguments.trace), error),
    })?;
    let mut replays = replays.into_iter();
    let alone: Vec<Replay> = replays.by_ref().take(machines.len()).collect();
    let counted = |(machine, baseline)| Counted {
        machine,
        baseline,
        plan: replays.next(),
        modes: None,
    };
    let mut counted: Vec<Counted<'_>> = machines.iter().zip(alone).map(counted).collect();
    let asked = baselines.iter().map(|baseline| plan.unwrap_or(baseline));
    modes::tell(trace, &mut counted, asked, options)?;
    Ok(counted)
}
