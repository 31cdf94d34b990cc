//! `corehop report`: a plan as one page to look at, that opens from disk anywhere.
//!
//! The report is made by the crate `corehop-report`; this file is its command line.

use crate::bundled;
use crate::console;
use crate::failure::{Exit, Failure};
use crate::jobs::Jobs;
use crate::line::Lines;
use crate::machines;
use crate::progress::Bar;
use crate::requests::{RequestList, request_list};
use crate::taken::Taken;
use clap::Args;
use corehop_partitioner::machine_list::{first, for_plan};
use corehop_plan::{Plan, PlannedFunction};
use corehop_report::{Options, Outputs, Sweep};
use corehop_support::format::number::counted;
use corehop_traces::Trace;
use std::path::{Path, PathBuf};

/// Show a plan as a page to look at: accesses, misses, the split, the space searched
#[derive(Args)]
#[command(after_help = "\
Example: corehop report split.toml bank.trace -o report.html
         corehop report split.toml -o report.html --requests 130,140-143
         corehop report split.toml --perfetto calls.json --folded misses.folded --requests 130
         corehop report split.toml -o report.html --sweep sweep.json")]
pub struct Arguments {
    /// The plan to report on
    plan: PathBuf,
    /// A trace of the server. Default: the one that the plan was searched on
    trace: Option<PathBuf>,
    #[command(flatten)]
    outputs: OutputArguments,
    /// The machine to simulate: a bundled name, `host`, or a TOML file. Default: the plan's
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Let so many requests run before counting starts. Default: half of them
    #[arg(long, value_name = "REQUESTS")]
    warm_up: Option<usize>,
    /// Show the accesses of these requests, counted from 0, such as 3,5-9. Default: twelve, evenly
    /// spread
    #[arg(long, value_name = "LIST", value_parser = request_list)]
    requests: Option<RequestList>,
    /// Show the space searched, too, which takes longer than all else: other splits, other numbers
    /// of cores, other machines
    #[arg(long)]
    full: bool,
    /// What is done without --full, as this option once said
    #[arg(long, hide = true, conflicts_with = "full")]
    quick: bool,
    /// Show beside it the best splits for other machines and numbers of cores, which `corehop
    /// partition --sweep --json` printed into this file
    #[arg(long, value_name = "FILE")]
    sweep: Option<PathBuf>,
    #[command(flatten)]
    taken: Taken,
    #[command(flatten)]
    jobs: Jobs,
}

/// What can be asked for instead of a page, or beside it.
const OTHERS: [&str; 6] = ["svg", "csv", "json", "perfetto", "folded", "callgrind"];

/// The options that say so.
#[derive(Args)]
struct OutputArguments {
    /// Where to write the page
    #[arg(short, long, value_name = "HTML", required_unless_present_any = OTHERS)]
    output: Option<PathBuf>,
    /// Write the pictures into this folder, as SVG files for papers
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// Write the numbers behind the pictures into this folder, as CSV files
    #[arg(long, value_name = "FOLDER")]
    csv: Option<PathBuf>,
    /// Write the timeline of the requests that --requests names, as JSON for Perfetto and Chrome
    #[arg(long, value_name = "FILE", requires = "requests")]
    perfetto: Option<PathBuf>,
    /// Write L2 misses by call stack, folded as flame graphs read them
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Write references and L2 misses by function and call, as kcachegrind reads them
    #[arg(long, value_name = "FILE")]
    callgrind: Option<PathBuf>,
    /// Print one JSON object with all numbers
    #[arg(long)]
    json: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

impl OutputArguments {
    fn outputs(&self) -> Outputs {
        Outputs {
            page: self.output.clone(),
            svg: self.svg.clone(),
            csv: self.csv.clone(),
            perfetto: self.perfetto.clone(),
            folded: self.folded.clone(),
            callgrind: self.callgrind.clone(),
            json: self.json,
            force: self.force,
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.jobs.keep_to()?;
    let outputs = arguments.outputs.outputs();
    outputs.check()?;
    let sweep = arguments.sweep.as_deref().map(Sweep::read).transpose()?;
    let plan = corehop_plan::read(&arguments.plan)?;
    let named = arguments.machine.as_deref();
    machines::tell_host([named.unwrap_or(first(&plan.machine).0)]);
    let machine = for_plan(&plan, named)?;
    if arguments.full {
        check_space(&plan)?;
    }
    let (trace, trace_name) = open(arguments, &plan)?;
    let named = arguments.requests.as_ref();
    let options = Options {
        trace: &trace,
        trace_name: &trace_name,
        is_default_trace: bundled::is_bundled(&trace_name),
        machine: &machine,
        plan: &plan,
        measured: None,
        plan_path: &arguments.plan,
        warm_up: arguments.warm_up,
        requests: named.map(|list| list.of(trace.requests().len())),
        full: arguments.full,
        sweep,
        outputs: &outputs,
    };
    let written = corehop_report::write(options, &Bar::new());
    match written.map_err(|error| Failure::from(error).of_trace(&trace_name))? {
        Some(numbers) => console::print(&Lines::of_json(&numbers)),
        None => Ok(()),
    }
}

/// Only splits at functions that have cores, at least one for each, are drawn beside the plan.
fn check_space(plan: &Plan) -> Result<(), Failure> {
    let refused = |why: String| Failure::new(Exit::Usage, why).remedy("leave --full out");
    let has_no_core = |function: &PlannedFunction| function.to.core().is_none();
    if plan.functions.iter().any(has_no_core) {
        let message = "--full: only of functions that have cores is the space searched shown";
        return Err(refused(message.into()));
    }
    let (functions, cores) = (plan.functions.len(), plan.cores);
    if functions < cores as usize {
        let functions = counted(functions as u64, "function", "functions");
        let message = format!(
            "--full: {functions} for {cores} cores: the space searched is shown of \
                               plans with a function for each core"
        );
        return Err(refused(message));
    }
    Ok(())
}

/// The trace named, or else the one that the plan names.
fn open(arguments: &Arguments, plan: &Plan) -> Result<(Trace, String), Failure> {
    if arguments.trace.is_some() || bundled::is_bundled(&plan.trace) {
        return arguments.taken.open_or_bundled(arguments.trace.as_deref());
    }
    let planned = Path::new(&plan.trace);
    match planned.exists() {
        true => arguments.taken.open_or_bundled(Some(planned)),
        false => {
            let plan = arguments.plan.display();
            let message = format!("{plan}: its trace, {}, is not there", planned.display());
            Err(Failure::new(Exit::Input, message).remedy("name the trace after the plan"))
        }
    }
}
