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

mod arguments;
mod folder;
mod outcome;
mod recording;
mod search;

pub use arguments::Arguments;

use crate::failure::Failure;
use crate::interrupt;
use crate::measuring::Shown;
use crate::open;
use crate::progress::Bar;
use corehop_measurer::Setup;
use corehop_measurer::rounds::{Contest, Limits, Measured};
use corehop_measurer::server::{Backend, UnderLoad};
use corehop_patcher::InMemory;
use corehop_processes::find;
use corehop_report::{Options, Outputs};
use folder::Folder;
use outcome::Outcome;
use search::{Found, Here};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let here = Here::look(&arguments.machine, arguments.cores)?;
    can_be_hooked(arguments)?;
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
            .map_err(|failure| failure.of_trace(&trace_path.display().to_string()))
    })??;
    folder.keep_tried(&found)?;
    let is_worth_it = found.is_promising() || arguments.anyway;
    let measured = match is_worth_it && !found.plans.is_empty() {
        true => Some(measure(arguments, &under, &found, &left)?),
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

/// Refuses a program that nothing can bring hooks into, before minutes are spent on it.
fn can_be_hooked(arguments: &Arguments) -> Result<(), Failure> {
    let program = find(OsStr::new(&arguments.command[0]))?;
    match InMemory::without_plan(&program) {
        Err(refused @ corehop_patcher::Error::Refused { .. }) => Err(refused.into()),
        // What else is wrong with it, starting it tells better.
        _ => Ok(()),
    }
}

/// The third stage: original and plans in turn on the real machine; `left` is what a signal leaves.
fn measure(
    arguments: &Arguments,
    under: &UnderLoad,
    found: &Found,
    left: &str,
) -> Result<Measured, Failure> {
    let command: Vec<OsString> = arguments.command.iter().map(OsString::from).collect();
    let observer = Shown::new();
    let setup = Setup {
        under,
        command: &command,
        system_calls: None,
        cohort: None,
        patched: None,
        count: None,
        backend: Backend::fastest(),
        kinds: &[],
        observer: &observer,
    };
    let limits = Limits {
        fewest: 2,
        most: arguments.max_rounds,
        within_percent: arguments.within,
        time: arguments.time_limit.map(Duration::from_secs),
    };
    let plans = found.plans.iter().map(|found| &found.plan);
    let measured = Contest::new(setup, plans)?.hold(&limits);
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
        full: false,
        sweep: None,
        outputs: &outputs,
    };
    corehop_report::write(options, &Bar::new())?;
    Ok(())
}
