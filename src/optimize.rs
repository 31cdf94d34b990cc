//! `corehop optimize`: from a server and a load to a plan that makes it faster, or to the answer
//! that none does.
//!
//! The stages are those of the other subcommands, in turn: record under load, search for this
//! machine, measure on it. Its word is the measured one: a replay only says which few plans are
//! worth measuring. The best of several is chosen in a screening, and judged on fresh rounds that
//! had no part in the choice; the luckiest of several measurements is no measurement of a plan.
//! Rejected: to take the plan that is predicted best. A replay knows neither prefetchers nor what a
//! hop costs a pipeline, and with few plans left the real machine is soon asked.
//!
//! Reading order: `recording` and `search` are the first two stages, and the crate
//! `corehop-measurer` is the third; `folder` is what is left of them, `outcome` is what is said.

mod folder;
mod outcome;
mod recording;
mod search;

use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::load_options::LoadOptions;
use crate::measuring::Shown;
use crate::open;
use crate::progress::Bar;
use clap::Args;
use corehop_measurer::Setup;
use corehop_measurer::rounds::{Contest, Limits, Measured};
use corehop_measurer::server::UnderLoad;
use corehop_report::{Options, Outputs};
use folder::Folder;
use outcome::Outcome;
use search::{Found, Here};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Make a server faster, if it can be: record it, search a plan, measure
///
/// COMMAND is started under QEMU and recorded while --load drives it, searched for the best plans
/// for this machine's caches, and then measured as it is and with each of the best plans' hops put
/// in place in memory, in turn. The best plan is kept with a report, and the one command that
/// starts the server with it is printed; or it is said that nothing pays here, and by which figure.
///
/// --load is run as a shell command when the server is ready, as often as it takes, and must not
/// mind a server that is 10 to 70 times slower than usual. Without --load, COMMAND must end by
/// itself and is the load. No file of the server is changed.
#[derive(Args)]
#[command(after_help = "\
Example: corehop optimize --load \"redis-benchmark -p 7000 -q -t get -n 100000\" \
-- redis-server --port 7000 --save \"\"
         corehop optimize --prepare ./fill.sh --load ./queries.sh --request-at dispatch_command \
-- mariadbd --datadir bank

Exit code 0 with a gain, 1 when nothing pays, 7 when the server or the load fails.")]
pub struct Arguments {
    #[command(flatten)]
    under: LoadOptions,
    /// Where a request begins, as `corehop record` takes it: a function's entry, `magic`, or what
    /// the server reads and writes
    #[arg(long, value_name = "WHERE", default_value = "syscalls")]
    request_at: String,
    /// How many requests to record
    #[arg(long, value_name = "NUMBER", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(2..))]
    requests: u64,
    /// How long the recording may take, from the start of the server on
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    record_within: u64,
    /// End the recording, and the server, when both take more resident memory than this
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    memory_limit: u64,
    /// Search this trace of the server, and record none
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// The machine to simulate: a bundled name, `host`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "host")]
    machine: String,
    /// Hop between no more cores than this, and never more than this machine lets a server use
    #[arg(long, value_name = "CORES", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(2..))]
    cores: u32,
    /// Measure no more plans than this, the best predicted ones
    #[arg(long, value_name = "NUMBER", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=20))]
    plans: u32,
    /// Measure the best plans also where none is predicted to pay
    #[arg(long)]
    anyway: bool,
    /// Measure until the interval is no wider than this to either side
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = width)]
    within: f64,
    /// Measure the best plan in no more rounds than this, even if the interval is wider then
    #[arg(long, value_name = "NUMBER", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    max_rounds: u32,
    /// Begin no more rounds after so many seconds of measuring; two are made in any case
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// The folder for the trace, the plan, the report and the result
    #[arg(short, long, value_name = "FOLDER", default_value = "corehop-optimize")]
    output: PathBuf,
    /// Replace what an earlier run has left in that folder
    #[arg(long)]
    force: bool,
    /// Print one JSON object instead of the text
    #[arg(long)]
    json: bool,
    /// The server, looked for on PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A text is no width of an interval.
#[derive(Debug, thiserror::Error)]
#[error("a width is a number of percent above 0, such as 2")]
struct NoWidth;

fn width(text: &str) -> Result<f64, NoWidth> {
    match text.parse() {
        Ok(percent) if f64::is_finite(percent) && percent > 0.0 => Ok(percent),
        _ => Err(NoWidth),
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let here = Here::look(&arguments.machine, arguments.cores)?;
    let folder = Folder::new(arguments)?;
    let under = arguments.under.under_load();
    interrupt::listen()?;
    let trace_path = match &arguments.trace {
        Some(trace) => trace.clone(),
        None => recording::record(arguments, &under, &folder)?,
    };
    let left = format!("the trace is {}", trace_path.display());
    let found = interrupt::at_once(&left, || -> Result<Found, Failure> {
        let trace = open::open(&trace_path)?;
        search::plans(&trace, &trace_path, &here, arguments.plans as usize)
    })??;
    folder.keep_tried(&found)?;
    let is_worth_it = found.is_promising() || arguments.anyway;
    let measured = match is_worth_it && !found.plans.is_empty() {
        true => Some(measure(arguments, &under, (&here, &found), &left)?),
        false => None,
    };
    let outcome = Outcome {
        arguments,
        folder: &folder,
        trace: &trace_path,
        here: &here,
        found: &found,
        measured,
    };
    outcome.keep()?;
    interrupt::at_once(&outcome.left(), || write_report(&outcome, &trace_path))??;
    outcome.tell()
}

/// The third stage: original and plans in turn on the real machine; `left` is what a signal leaves.
fn measure(
    arguments: &Arguments,
    under: &UnderLoad,
    (here, found): (&Here, &Found),
    left: &str,
) -> Result<Measured, Failure> {
    let command: Vec<OsString> = arguments.command.iter().map(OsString::from).collect();
    let observer = Shown::new();
    let setup = Setup {
        under,
        command: &command,
        patched: None,
        count: None,
        is_carried: here.is_carried,
        kinds: &[],
        observer: &observer,
    };
    let limits = Limits {
        within_percent: arguments.within,
        most_rounds: arguments.max_rounds,
        time: arguments.time_limit.map(Duration::from_secs),
    };
    let plans = found.plans.iter().map(|found| &found.plan);
    let measured = Contest::new(setup, limits, plans)?.hold();
    match interrupt::is_asked() {
        true => Err(interrupt::failure(&format!(
            "every server was ended; {left}"
        ))),
        false => Ok(measured?),
    }
}

/// The page of the plan that was chosen, or of the best predicted one; nothing where there is none.
fn write_report(outcome: &Outcome<'_>, trace: &Path) -> Result<(), Failure> {
    let Some(index) = outcome.shown() else {
        return Ok(());
    };
    let plan = match outcome.gain() {
        Some(_) => outcome.folder.plan(),
        None => outcome.folder.tried(index),
    };
    let outputs = Outputs {
        page: Some(outcome.folder.report()),
        force: true,
        ..Outputs::default()
    };
    outputs.check()?;
    let read = corehop_plans::read(&plan)?;
    let options = Options {
        trace: &open::open(trace)?,
        trace_name: &trace.display().to_string(),
        is_default_trace: false,
        machine: &outcome.here.machine,
        plan: &read,
        plan_path: &plan,
        warm_up: None,
        requests: None,
        quick: true,
        sweep: None,
        outputs: &outputs,
    };
    corehop_report::write(options, &Bar::new())?;
    Ok(())
}

/// What a command line or a file names that cannot be used here.
fn unusable(message: String, remedy: &str) -> Failure {
    Failure::new(Exit::Missing, message).remedy(remedy)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_width_is_above_0() {
        assert!(super::width("2.5").is_ok());
        assert!(super::width("0").is_err() && super::width("nan").is_err());
    }
}
