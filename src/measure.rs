//! `corehop measure`: whether a plan makes a server faster, on the real machine.
//!
//! Original and patched are started in turn, each warmed up and put under the user's own load, and
//! what that load says of throughput is compared, round by round (`interval`). Whatever else the
//! machine does then falls on both. Rejected: all rounds of one, then all of the other, which takes
//! a drift of the machine for a gain; and one long run of each, whose spread nobody knows.
//!
//! Reading order: `trial` is one start of one side, `ready`, `load` and `orders` are its parts.

pub mod environment;
pub mod interval;
mod json;
pub mod load;
pub mod orders;
mod predicted;
pub mod ready;
mod text;
pub mod trial;
pub mod under_load;

use crate::console;
use crate::counters::{self, Kind};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::line::Lines;
use crate::progress::Bar;
use clap::Args;
use corehop_partitioner::progress::Progress;
use corehop_plans::Plan;
use corehop_processes::Process;
use interval::Comparison;
use orders::Hops;
use predicted::{Predicted, Prediction};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use trial::{Sample, Setup, Side, Trials};
use under_load::UnderLoad;

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
    under: UnderLoad,
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

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if f64::is_finite(percent) => Ok(percent),
        _ => Err("a gain is a number of percent, such as 2.5".into()),
    }
}

/// Fails once a signal has come; servers and loads are ended when they are dropped.
pub fn heed_interrupts() -> Result<(), Failure> {
    interrupt::heed("every server was ended")
}

/// How often it is looked whether a program has ended: this is how exact its time is.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Waits until a program ends by itself, as long as `go_on` finds nothing against it; also the
/// seconds since `began`.
pub fn ended(
    program: &mut Process,
    began: Instant,
    go_on: impl Fn() -> Result<(), Failure>,
) -> Result<(ExitStatus, f64), Failure> {
    loop {
        if let Some(status) = program.ended() {
            return Ok((status, began.elapsed().as_secs_f64()));
        }
        go_on()?;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What was measured and what was asked.
struct Report<'a> {
    arguments: &'a Arguments,
    plan: &'a Plan,
    /// By round: original, patched.
    rounds: Vec<(Sample, Sample)>,
    comparison: Comparison,
    /// The counters of this processor, or why there are none.
    counters: Result<Vec<Kind>, String>,
    predicted: Predicted,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = corehop_plans::read(&arguments.plan)?;
    check(arguments, &plan)?;
    let prediction = Prediction::prepare(arguments, &plan)?;
    let counters = counters::available();
    interrupt::listen()?;
    let setup = Setup {
        under: &arguments.under,
        command: &arguments.command,
        patched: arguments.patched.as_deref(),
        count: arguments.count.as_deref(),
        is_carried: false,
    };
    let trials = Trials::new(setup, &plan, counters.as_deref().unwrap_or_default())?;
    let rounds = take_turns(arguments, &trials)?;
    let pairs: Vec<_> = rounds
        .iter()
        .map(|(a, b)| (a.throughput, b.throughput))
        .collect();
    let hop_ns = median(rounds.iter().map(|(_, patched)| patched.hop_ns()));
    let predicted = prediction.with_hops_of(hop_ns)?;
    let report = Report {
        comparison: Comparison::of(&pairs),
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

/// Every other round the patched server goes first, so that neither always follows the other.
fn take_turns(
    arguments: &Arguments,
    trials: &Trials<'_>,
) -> Result<Vec<(Sample, Sample)>, Failure> {
    let bar = Bar::new();
    if arguments.under.load.is_none() {
        bar.begin("warming up", Some(u64::from(arguments.under.warm_up) * 2));
        for _ in 0..arguments.under.warm_up {
            for side in [Side::Original, Side::Patched] {
                trials.sample(side)?;
                bar.advance(1);
            }
        }
        bar.end();
    }
    let mut rounds = Vec::new();
    bar.begin(
        "original and patched in turn",
        Some(u64::from(arguments.rounds) * 2),
    );
    for round in 0..arguments.rounds {
        let sample = |side| {
            let sample = trials.sample(side);
            bar.advance(1);
            sample
        };
        let pair = match round % 2 {
            0 => (sample(Side::Original)?, sample(Side::Patched)?),
            _ => {
                let patched = sample(Side::Patched)?;
                (sample(Side::Original)?, patched)
            }
        };
        let (original, patched) = (pair.0.throughput, pair.1.throughput);
        console::detail(&format!(
            "round {}: {original:.6} and {patched:.6}",
            round + 1
        ));
        rounds.push(pair);
    }
    bar.end();
    Ok(rounds)
}

/// The upper median; 0 of nothing.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

impl Report<'_> {
    /// Medians of both sides.
    fn medians(&self, of: impl Fn(&Sample) -> f64) -> [f64; 2] {
        [
            median(self.rounds.iter().map(|(original, _)| of(original))),
            median(self.rounds.iter().map(|(_, patched)| of(patched))),
        ]
    }

    /// What the patched servers told of their hops, all together, and of what one takes the
    /// median; `None` where none told.
    fn hops(&self) -> Option<Hops> {
        let told = self.rounds.iter();
        let told = told.filter_map(|(_, patched)| patched.hops.clone());
        Hops::together(&told.collect::<Vec<_>>())
    }

    /// What speaks against the figures, if anything does.
    fn doubt(&self) -> Option<String> {
        let Some(told) = self.hops() else {
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
