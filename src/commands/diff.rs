//! `corehop diff`: compares two traces, two plans, or two results of one command.
//!
//! The kind of a file follows from its content. Each side is converted into one form
//! ([`side::Side`]): settings as text, figures with optional intervals, and the functions of a
//! plan. These are compared by name, so the reader of each kind only lists its content. Traces are
//! replayed for this, and are also compared by function, thread, and module.

mod changes;
mod compared;
mod input;
mod json;
mod migrations;
mod pairs;
mod results;
mod side;
mod text;
mod traces;

use crate::failure::{Exit, Failure};
use crate::options::jobs::Jobs;
use crate::options::machines;
use crate::terminal::console;
use crate::terminal::line::Lines;
use changes::Changes;
use clap::Args;
use compared::Compared;
use input::Input;
use std::path::{Path, PathBuf};
use traces::Simulation;

/// Compare two traces, two plans, or two JSON results
///
/// Traces are replayed on one core of the same machine. The table has instructions, accesses, and
/// misses per request, and then the functions whose L2 misses per request have changed most.
///
/// Plans are compared function by function. JSON results are the output of `optimize`, `partition`,
/// `measure`, `replay`, `explain`, or `report` with --json; both must be from the same command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  corehop diff monday.trace friday.trace
  corehop diff --machine xeon-8480 --requests 10-59 monday.trace friday.trace
  corehop diff split.toml other.toml
  corehop diff --json monday/result.json friday/result.json

Exit code 0 if nothing differs, 1 if something does.")]
pub struct Arguments {
    /// Trace, plan, or JSON result: the left column, A
    #[arg(value_name = "A")]
    before: PathBuf,
    /// Trace, plan, or JSON result of the same kind: the right column, B
    #[arg(value_name = "B")]
    after: PathBuf,
    /// Maximum number of functions in each table of functions
    #[arg(
        long,
        visible_alias = "limit",
        value_name = "FUNCTIONS",
        default_value_t = 15
    )]
    top: usize,
    #[command(flatten)]
    simulation: Simulation,
    #[command(flatten)]
    jobs: Jobs,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.jobs.keep_to()?;
    let files = [&*arguments.before, &*arguments.after];
    let inputs = (Input::read(files[0])?, Input::read(files[1])?);
    if inputs.0.kind() != inputs.1.kind() {
        return Err(unlike(files, [&inputs.0, &inputs.1]));
    }
    let kind = inputs.0.kind();
    let (changes, traces) = match inputs {
        (Input::Read(a, _), Input::Read(b, _)) => (Changes::of(*a, *b), None),
        _ => {
            machines::tell_host([&*arguments.simulation.machine]);
            let (sides, traces) = traces::compare(&arguments.simulation, files)?;
            let [a, b] = sides;
            (Changes::of(a, b), Some(traces))
        }
    };
    let compared = Compared {
        files,
        kind: kind.word,
        changes,
        traces,
    };
    console::print(&match arguments.json {
        true => Lines::of_json(&json::render(&compared, arguments.top)),
        false => text::render(&compared, arguments.top),
    })?;
    if compared.is_same() {
        return Ok(());
    }
    let [a, b] = files.map(Path::display);
    Err(Failure::new(Exit::Findings, format!("{a} and {b} differ")).explained())
}

/// Returns the failure for files of different kinds.
fn unlike(files: [&Path; 2], inputs: [&Input; 2]) -> Failure {
    let [a, b] = files.map(Path::display);
    let [of_a, of_b] = inputs.map(|input| input.kind().phrase);
    let message = format!("{a} is {of_a}, and {b} is {of_b}");
    Failure::new(Exit::Usage, message)
        .remedy("name two traces, two plans, or two JSON results of one command")
}
