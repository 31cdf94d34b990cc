//! `corehop report`: writes a plan as one HTML page, which works offline from a file.
//!
//! The crate `corehop-report` writes the report; this file is its command line.

use crate::bundled;
use crate::failure::{Exit, Failure};
use crate::options::addressing::AddressingOptions;
use crate::options::jobs::Jobs;
use crate::options::machines;
use crate::options::requests::{RequestList, request_list};
use crate::options::streams;
use crate::terminal::console;
use crate::terminal::line::Lines;
use crate::terminal::progress::Bar;
use clap::Args;
use corehop_plan::{Plan, PlannedFunction};
use corehop_report::{Options, Outputs, Sweep};
use corehop_support::format::number::counted;
use corehop_traces::Trace;
use std::path::{Path, PathBuf};

/// Write a plan as an HTML page: accesses, misses before and after, and the split
///
/// The page opens from disk and needs no network. The other output options write its pictures and
/// numbers, or files for other viewers; at least one output is required. docs/guide/report.md shows
/// how to read the page.
#[derive(Args)]
#[command(after_help = "\
Example: corehop report split.toml bank.trace -o report.html
         corehop report split.toml -o report.html --requests 130,140-143
         corehop report split.toml --perfetto calls.json --folded misses.folded --requests 130
         corehop report split.toml -o report.html --sweep sweep.json")]
pub struct Arguments {
    /// Plan to report on
    plan: PathBuf,
    /// Trace of the server; default: the trace that the plan was searched on
    trace: Option<PathBuf>,
    #[command(flatten)]
    outputs: OutputArguments,
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
    /// Requests whose accesses to show, counted from 0, such as 3,5-9
    ///
    /// Default: twelve of the counted requests, evenly spread.
    #[arg(
        long,
        value_name = "LIST",
        value_parser = request_list,
        help_heading = "Content"
    )]
    requests: Option<RequestList>,
    /// Also show the search space, which takes several times as long
    ///
    /// It includes other splits, other numbers of cores, and other machines.
    #[arg(long, help_heading = "Content")]
    full: bool,
    /// The default, which this option selected in earlier versions.
    #[arg(long, hide = true, conflicts_with = "full")]
    quick: bool,
    /// Also show the best splits for other machines and numbers of cores, from this file
    ///
    /// `corehop partition --sweep --json` prints such a file.
    #[arg(long, value_name = "FILE", help_heading = "Content")]
    sweep: Option<PathBuf>,
    #[command(flatten)]
    taken: AddressingOptions,
    #[command(flatten)]
    jobs: Jobs,
}

/// Options of other outputs, which can replace the page.
const OTHERS: [&str; 6] = ["svg", "csv", "json", "perfetto", "folded", "callgrind"];

/// The options of outputs.
#[derive(Args)]
struct OutputArguments {
    /// File for the page
    #[arg(short, long, value_name = "HTML", help_heading = "Output",
          required_unless_present_any = OTHERS)]
    output: Option<PathBuf>,
    /// Folder for the pictures, as SVG files
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Folder for the numbers behind the pictures, as CSV files
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// File for a timeline of the requests in --requests, as JSON for Perfetto and Chrome
    #[arg(
        long,
        value_name = "FILE",
        requires = "requests",
        help_heading = "Output"
    )]
    perfetto: Option<PathBuf>,
    /// File for L2 misses by call stack, in the folded format of flame graphs
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    folded: Option<PathBuf>,
    /// File for accesses and L2 misses by function and call, in the format of KCachegrind
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    callgrind: Option<PathBuf>,
    /// Print one JSON object with all numbers
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Replace existing files
    #[arg(long, help_heading = "Output")]
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
    let files = [
        &outputs.page,
        &outputs.perfetto,
        &outputs.folded,
        &outputs.callgrind,
    ];
    let inputs = [
        Some(&*arguments.plan),
        arguments.trace.as_deref(),
        arguments.sweep.as_deref(),
        arguments.machine.as_deref().map(Path::new),
    ];
    for output in files.into_iter().flatten() {
        streams::keep(inputs.into_iter().flatten(), output)?;
        streams::one_document(outputs.json, output)?;
    }
    streams::distinct(files.into_iter().flatten().map(PathBuf::as_path))?;
    outputs.check()?;
    let sweep = arguments.sweep.as_deref().map(Sweep::read).transpose()?;
    let plan = corehop_plan::read(&arguments.plan)?;
    let named = arguments.machine.as_deref();
    let machine = machines::of_plan(&arguments.plan, &plan, named)?;
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

/// Checks that the plan is in the searched space: every function has a core, and there are at least
/// as many functions as cores.
fn check_space(plan: &Plan) -> Result<(), Failure> {
    let refused = |why: String| Failure::new(Exit::Usage, why).remedy("leave --full out");
    let has_no_core = |function: &PlannedFunction| function.to.core().is_none();
    if plan.functions.iter().any(has_no_core) {
        let message = "--full requires a plan in which each function has a core";
        return Err(refused(message.into()));
    }
    let (functions, cores) = (plan.functions.len(), plan.cores);
    if functions < cores as usize {
        let functions = counted(functions as u64, "function", "functions");
        let message = format!(
            "--full requires a plan with a function for each core: it has {functions} for {cores} \
             cores"
        );
        return Err(refused(message));
    }
    Ok(())
}

/// Opens the trace on the command line, or else the trace of the plan.
fn open(arguments: &Arguments, plan: &Plan) -> Result<(Trace, String), Failure> {
    if arguments.trace.is_some() || bundled::is_bundled(&plan.trace) {
        return arguments.taken.open_or_bundled(arguments.trace.as_deref());
    }
    let planned = Path::new(&plan.trace);
    match planned.exists() {
        true => arguments.taken.open_or_bundled(Some(planned)),
        false => {
            let plan = arguments.plan.display();
            let message = format!("{plan}: its trace {} does not exist", planned.display());
            Err(Failure::new(Exit::Input, message).remedy("name the trace after the plan"))
        }
    }
}
