//! `corehop measure`: whether a plan makes a server faster, on the real machine.
//!
//! The crate `corehop-measurer` measures; this file is its command line.

mod json;
mod predicted;
mod text;

use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::line::Lines;
use crate::load_options::LoadOptions;
use crate::measuring::Shown;
use clap::Args;
use corehop_measurer::machine::counters::{self, Kind};
use corehop_measurer::rounds::{Comparison, Rounds, take_turns};
use corehop_measurer::{Setup, Trials};
use corehop_plans::Plan;
use predicted::{Predicted, Prediction};
use std::ffi::OsString;
use std::path::PathBuf;

/// Measure whether a plan makes a server faster, against the original, on this machine
///
/// COMMAND is started anew for each trial: as it is, then with the plan's hops put in place in
/// memory (or as --patched FILE), in turn. When it is ready, --load is run as a shell command, some
/// times to warm up and once to count. Without --load, COMMAND must end by itself and is the load.
///
/// Throughput is the number that --throughput finds in what the load prints, or how often --count
/// was called a second, or else how many such loads fit into a second. How the patched server hops
/// is chosen by COREHOP_BACKEND and COREHOP_CPUS, as ever; to give both sides the same CPUs, start
/// corehop under taskset.
#[derive(Args)]
#[command(after_help = "\
Example: corehop measure --plan split.toml --load \"redis-benchmark -p 7000 -q -t get -n 100000\" \
--throughput \"([0-9.]+) requests per second\" -- redis-server --port 7000
         corehop measure --plan split.toml --require-gain 2 -- sqlite3 bank.db \".read queries.sql\"

Exit code 1 when --require-gain is not met; 7 when the server or the load fails.")]
pub struct Arguments {
    /// The plan, as `corehop partition` writes it
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Start this file, which `corehop patch` wrote, instead of putting hooks in place in memory
    #[arg(long, value_name = "FILE")]
    patched: Option<PathBuf>,
    #[command(flatten)]
    under: LoadOptions,
    /// How often original and patched take turns
    #[arg(long, value_name = "NUMBER", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    rounds: u32,
    /// Count calls of this function of the plan instead, on both sides: the original then has the
    /// hooks too, but they only count
    #[arg(
        long,
        value_name = "SYMBOL",
        requires = "load",
        conflicts_with = "throughput"
    )]
    count: Option<String>,
    /// Replay this trace, to say beside what was measured what was to be expected
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// The machine to replay it on: a bundled name, `host`, or a TOML file. Default: the plan's
    #[arg(long, value_name = "NAME|FILE", requires = "trace")]
    machine: Option<String>,
    /// How many connections the load keeps busy, for what was to be expected
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "trace",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Fail unless the whole interval lies at least so many percent above no change
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    require_gain: Option<f64>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// The original program, looked for on PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A text is no gain.
#[derive(Debug, thiserror::Error)]
#[error("a gain is a number of percent, such as 2.5")]
struct NoPercent;

fn percent(text: &str) -> Result<f64, NoPercent> {
    match text.parse() {
        Ok(percent) if f64::is_finite(percent) => Ok(percent),
        _ => Err(NoPercent),
    }
}

/// What was measured and what was asked.
struct Report<'a> {
    arguments: &'a Arguments,
    plan: &'a Plan,
    rounds: Rounds,
    comparison: Comparison,
    /// The counters of this processor, or why there are none.
    counters: std::io::Result<Vec<Kind>>,
    predicted: Predicted,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = corehop_plans::read(&arguments.plan)?;
    check(arguments, &plan)?;
    let prediction = Prediction::prepare(arguments, &plan)?;
    let counters = counters::available();
    interrupt::listen()?;
    let (under, observer) = (arguments.under.under_load(), Shown::new());
    let setup = Setup {
        under: &under,
        command: &arguments.command,
        patched: arguments.patched.as_deref(),
        count: arguments.count.as_deref(),
        is_carried: false,
        kinds: counters.as_deref().unwrap_or_default(),
        observer: &observer,
    };
    let rounds = take_turns(&Trials::new(setup, &plan)?, arguments.rounds)?;
    let predicted = prediction.with_hops_of(rounds.hop_ns())?;
    let report = Report {
        comparison: rounds.comparison(),
        predicted,
        arguments,
        plan: &plan,
        rounds,
        counters,
    };
    match arguments.json {
        true => console::print(&Lines::of_json(&json::render(&report)))?,
        false => console::print(&text::render(&report))?,
    }
    report
        .doubt()
        .into_iter()
        .for_each(|doubt| console::warn(&doubt));
    match arguments.require_gain {
        Some(percent) if !report.comparison.gains(percent) => {
            let low = (report.comparison.low - 1.0) * 100.0;
            let message =
                format!("a gain of {percent} % was required; it may be as low as {low:.1} %");
            Err(Failure::new(Exit::Findings, message).remedy(
                "more --rounds narrow the interval; if the gain is small, keep the original",
            ))
        }
        _ => Ok(()),
    }
}

fn check(arguments: &Arguments, plan: &Plan) -> Result<(), Failure> {
    let Some(symbol) = &arguments.count else {
        return Ok(());
    };
    let planned: Vec<&str> = plan.functions.iter().map(|f| f.symbol.as_str()).collect();
    match planned.contains(&symbol.as_str()) {
        true => Ok(()),
        false => {
            let message = format!("--count {symbol}: the plan hooks no such function");
            let remedy = format!("name one of: {}", planned.join(", "));
            Err(Failure::new(Exit::Usage, message).remedy(remedy))
        }
    }
}

impl Report<'_> {
    /// What speaks against the figures, if anything does.
    fn doubt(&self) -> Option<String> {
        let Some(told) = self.rounds.hops() else {
            return Some(
                "warning: the patched server told nothing of its hops: it was killed, or runs \
                 without hooks (its messages are shown with --verbose)"
                    .into(),
            );
        };
        (told.hops == 0).then(|| {
            let backend = &told.backend;
            format!(
                "warning: the patched server never hopped (backend {backend}): the load does not \
                 reach the plan's functions, or COREHOP_BACKEND says not to"
            )
        })
    }
}
