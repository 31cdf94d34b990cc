//! `corehop optimize`: records a server under a load, and finds what makes it faster: a plan,
//! asynchronous system calls, or nothing.
//!
//! The stages are those of the other subcommands: record under load, search for this machine,
//! measure on it. The answer is the measured one. A replay only selects the few plans that are
//! worth measuring. The best of several plans wins a race. Its interval allows for the selection,
//! because the luckiest of several measurements is biased. Rejected: to select the plan with the
//! best prediction. A replay models neither prefetchers nor the cost of a hop for a pipeline, and
//! measuring a few candidates on the real machine is quick.
//!
//! Reading order: `recording` and `search` are the first two stages, `system_calls` is the
//! alternative to plans, and the crate `corehop-measure` is the third stage. `candidate` is passed
//! between stages, `folder` contains their output files, `outcome` is the result, `causes` is the
//! next best answer without a gain, and `summary` prints all.

mod arguments;
mod candidate;
mod causes;
mod folder;
mod json;
mod outcome;
mod recording;
mod search;
mod start;
mod summary;
mod system_calls;

pub use arguments::Arguments;

use crate::failure::Failure;
use crate::measuring::{Shown, untold};
use crate::open;
use crate::options::carriers;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::progress::Bar;
use candidate::{Candidates, Contested};
use causes::Causes;
use corehop_measure::Setup;
use corehop_measure::rounds::{Contest, Limits, Question};
use corehop_measure::server::{Backend, UnderLoad};
use corehop_patcher::InMemory;
use corehop_report::{Options, Outputs};
use corehop_support::processes::find;
use folder::Folder;
use outcome::Outcome;
use search::Here;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut here = Here::look(&arguments.machine, arguments.cores)?;
    arguments.system_calls.check(&here)?;
    can_be_hooked(arguments)?;
    let folder = Folder::new(arguments)?;
    let under = arguments.under.under_load();
    interrupt::listen()?;
    if let Some(file) = here.measure_latencies()? {
        folder.keep_machine(&file)?;
        let (latencies, file) = (here.latencies(), folder.machine());
        let file = file.display();
        console::say(&format!(
            "corehop: machine host: latencies measured: {latencies}, {file}"
        ));
    }
    let trace_path = match &arguments.trace {
        Some(trace) => trace.clone(),
        None => recording::record(arguments, &under, &folder)?,
    };
    let left = format!("the trace is {}", trace_path.display());
    let (candidates, carriers) = interrupt::at_once(&left, || -> Result<_, Failure> {
        let trace = open::open(&trace_path)?;
        let carriers = carriers::of_trace(&trace);
        carriers
            .iter()
            .for_each(|known| console::say(&known.said()));
        let posting = arguments.system_calls.posting(&trace, under.load.is_some());
        let found = search::plans(&trace, &trace_path, &here, arguments.plans as usize)
            .map_err(|failure| failure.of_trace(&trace_path.display().to_string()))?;
        Ok((Candidates::new(found, posting), carriers))
    })??;
    folder.keep_tried(candidates.plans())?;
    let entrants = candidates.worth_it(arguments.anyway);
    let contested = match entrants.is_empty() {
        true => None,
        false => Some(measure(arguments, &under, &candidates, (entrants, &left))?),
    };
    let mut outcome = Outcome {
        arguments,
        folder: &folder,
        trace: &trace_path,
        here: &here,
        candidates: &candidates,
        carriers,
        contested,
        causes: None,
    };
    if outcome.is_cut_short() {
        return summary::tell_early(outcome);
    }
    if outcome.gain().is_none() {
        let causes = || Causes::of(&trace_path, &here.machine, arguments.smallest_gain);
        outcome.causes = Some(interrupt::at_once(&left, causes)??);
    }
    summary::keep(&outcome)?;
    interrupt::at_once(&summary::left(&outcome), || {
        write_report(&outcome, &trace_path)
    })??;
    summary::tell(&outcome)
}

/// Refuses a program that cannot be hooked, before minutes are spent on it.
fn can_be_hooked(arguments: &Arguments) -> Result<(), Failure> {
    let program = find(OsStr::new(&arguments.command[0]))?;
    match InMemory::without_plan(&program) {
        Err(
            refused @ (corehop_patcher::Error::Refused { .. }
            | corehop_patcher::Error::Input { .. }),
        ) => Err(refused.into()),
        // Starting the program reports what is not there better.
        _ => Ok(()),
    }
}

/// Runs the third stage: measures the original and the candidates alternately on the real machine.
/// `left` states what remains after a signal.
fn measure(
    arguments: &Arguments,
    under: &UnderLoad,
    candidates: &Candidates,
    (entrants, left): (Vec<usize>, &str),
) -> Result<Contested, Failure> {
    let command: Vec<OsString> = arguments.command.iter().map(OsString::from).collect();
    let observer = Shown::of(candidates.names(&entrants));
    let setup = Setup {
        under,
        command: &command,
        system_calls: None,
        patched: None,
        count: None,
        backend: Backend::fastest(),
        kinds: &[],
        observer: &observer,
    };
    let limits = Limits {
        question: Question::Gain {
            smallest_percent: arguments.smallest_gain,
        },
        fewest: 2,
        most: arguments.max_rounds,
        within_percent: arguments.within,
        time: arguments.time_limit,
    };
    let contestants = candidates.contestants(&entrants);
    let measured = match Contest::new(setup, contestants)?.hold(&limits) {
        Err(corehop_measure::Error::Interrupted) => {
            let left = format!("every server was ended; {left}");
            return Err(interrupt::failure(&left));
        }
        measured => measured?,
    };
    if let Some(doubt) = untold(&measured.rounds) {
        console::warn(&doubt);
    }
    Ok(Contested { entrants, measured })
}

/// Writes the page of the selected plan, or of the best plan without a gain. Writes nothing without
/// a plan, or if asynchronous calls are the gain.
fn write_report(outcome: &Outcome<'_>, trace: &Path) -> Result<(), Failure> {
    let Some(index) = outcome.page() else {
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
    let read = corehop_plan::read(&plan)?;
    let options = Options {
        trace: &open::open(trace)?,
        trace_name: &trace.display().to_string(),
        is_default_trace: false,
        machine: &outcome.here.machine,
        plan: &read,
        plan_path: &plan,
        measured: outcome.measured(),
        warm_up: None,
        requests: None,
        full: false,
        sweep: None,
        outputs: &outputs,
    };
    corehop_report::write(options, &Bar::new())?;
    Ok(())
}
