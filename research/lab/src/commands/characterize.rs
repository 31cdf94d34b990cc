//! `corehop-lab characterize`: classifies the lines of functions before they are delegated.
//!
//! The library of this crate computes the results; this file is the command line, and `text` and
//! `json` print them. Each function represents a plan that delegates only it (`mode = "call"`).

mod classes;
mod json;
mod profiler;
mod sampled;
mod summary;
mod text;

use clap::Args;
use corehop::failure::Failure;
use corehop::function_names::FunctionNames;
use corehop::options::addressing::AddressingOptions;
use corehop::options::jobs::Jobs;
use corehop::options::machines;
use corehop::options::scope::Scope;
use corehop::terminal::console;
use corehop::terminal::line::Lines;
use corehop::terminal::progress::Bar;
use corehop_lab::characterize::Subject;
use corehop_lab::characterize::profile::{Profile, Wanted};
use corehop_lab::characterize::sampled::DRAWS;
use corehop_partitioner::candidates::Candidates;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_simulator::Machine;
use corehop_traces::{FunctionId, RequestId, Trace};
use std::path::PathBuf;
use summary::{Draws, Summary};

/// Classify the cache lines of functions, and replay the gain of delegating each
///
/// For each function it reports which lines only the function accesses, which are a connection's,
/// and what caches lose by its accesses. Then it replays a plan that delegates only the calls of
/// that function. research/characterize.md describes each figure.
#[derive(Args)]
#[command(after_help = "\
Example: corehop-lab characterize bank.trace --top 20
Then:    corehop-lab characterize bank.trace --functions parse_sql,mysql_execute_command
         corehop-lab characterize --perf-script samples.txt --functions parse_sql")]
pub struct Arguments {
    /// Trace to characterize; default: the bundled sample (MariaDB under TPC-C)
    trace: Option<PathBuf>,
    /// Functions to report, by name or symbol, separated by commas; can be repeated
    ///
    /// A comma within the brackets of a C++ name does not separate names. Default: the candidates
    /// for delegated calls.
    #[arg(long, value_name = "NAMES", value_parser = FunctionNames::parsed)]
    functions: Vec<FunctionNames>,
    /// Number of functions to report with their gain, the best by the rule of thumb first
    ///
    /// With --functions, all of those are reported.
    #[arg(long, value_name = "FUNCTIONS", default_value_t = 10)]
    top: usize,
    /// Replay the gain of every function, and correlate it with the rule of thumb
    #[arg(long)]
    correlate: bool,
    /// Also estimate the classes from samples, one in this many accesses, and report the error
    ///
    /// The samples are drawn from the trace as a profiler draws them; --seed determines which.
    /// Default: no samples.
    #[arg(long, value_name = "ACCESSES", hide_short_help = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// Read the samples of a profiler from this file, instead of a trace
    ///
    /// `perf script -F tid,event,addr,ip,sym` prints such a file, for samples of loads and stores
    /// with their calls.
    #[arg(long, value_name = "FILE", requires = "functions",
          conflicts_with_all = ["trace", "correlate", "sample"])]
    perf_script: Option<PathBuf>,
    /// Machine to simulate: a bundled name, `host`, or a TOML file
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "xeon-e5-2620-v4",
        help_heading = "Simulation"
    )]
    machine: String,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    taken: AddressingOptions,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Returns the functions of the option.
    fn functions(&self) -> Vec<String> {
        FunctionNames::all(&self.functions)
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.perf_script {
        return profiler::run(path, &arguments.functions(), arguments.json);
    }
    arguments.jobs.keep_to()?;
    machines::tell_host([&*arguments.machine]);
    let machine = Machine::named_or_path(&arguments.machine)?;
    let (trace, trace_name) = arguments
        .taken
        .open_or_bundled(arguments.trace.as_deref())?;
    let told = tell(arguments, &machine, (&trace, &trace_name));
    told.map_err(|failure| failure.of_trace(&trace_name))
}

fn tell(
    arguments: &Arguments,
    machine: &Machine,
    (trace, trace_name): (&Trace, &str),
) -> Result<(), Failure> {
    let scope = &arguments.scope;
    let train_test = TrainTestSplit::of(trace.requests(), scope.searched(), scope.seed)?;
    let bar = Bar::new();
    let functions = functions(arguments, trace, &train_test, &bar)?;
    let top = match arguments.functions.is_empty() {
        true => arguments.top,
        false => functions.len(),
    };
    let wanted = Wanted {
        machine,
        train_test: &train_test,
        gains: if arguments.correlate {
            functions.len()
        } else {
            top
        },
    };
    let profile = Profile::of(Subject::new(trace, functions)?, &wanted, &bar)?;
    let sample = |every| -> Result<Draws, Failure> {
        let wanted = (every, scope.seed, DRAWS);
        let draws = profile.subject.sampled(wanted, &bar)?;
        Ok(Draws { every, draws })
    };
    let sampled = arguments.sample.map(sample).transpose()?;
    let told = Summary {
        sampled: sampled.as_ref(),
        trace_name,
        machine,
        profile: &profile,
        top,
        correlate: arguments.correlate,
    };
    match arguments.json {
        true => console::print(&Lines::of_json(&json::render(&told))),
        false => console::print(&text::render(&told)),
    }
}

/// Returns the functions of `--functions`, or all candidates: each function of a group separately,
/// because calls that begin together need not end together.
fn functions(
    arguments: &Arguments,
    trace: &Trace,
    train_test: &TrainTestSplit,
    bar: &Bar,
) -> Result<Vec<FunctionId>, Failure> {
    if !arguments.functions.is_empty() {
        return Ok(Subject::named(trace, &arguments.functions())?);
    }
    let learning: Vec<RequestId> = train_test.training().collect();
    let rule = arguments.scope.rule();
    let chosen = Candidates::of_calls(trace, &learning, &rule, bar)?.chosen;
    Ok(chosen.iter().map(|candidate| candidate.function).collect())
}
