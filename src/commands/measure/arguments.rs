//! The command line of `corehop measure`.

use crate::options::load_options::{LoadOptions, positive_percent};
use crate::posted_calls::checked;
use clap::Args;
use corehop_measure::rounds::{Limits, Question};
use std::ffi::OsString;
use std::path::PathBuf;

/// Measure whether a plan or asynchronous system calls make a server faster on this machine
///
/// Each round starts COMMAND once as the original and once with the plan. The hooks are installed
/// in memory, unless --patched names a patched file. The result is the ratio of the throughputs
/// with its 95 % confidence interval, and a verdict.
///
/// When the server is ready, the shell command of --load runs: first to warm up, then to measure.
/// Without --load, COMMAND itself is the load, and must end when its work is done.
///
/// Throughput is the number that --throughput finds in the output of the load. With --count it is
/// calls of a function per second, and otherwise loads per second.
///
/// COREHOP_BACKEND selects how the patched server hops. Default here, unlike in production:
/// carrier, or affinity if this machine does not support carrier. COREHOP_CPUS selects the CPUs of
/// the plan's cores. To give both sides the same CPUs, start corehop under taskset.
#[derive(Args)]
#[command(after_help = "\
Example: corehop measure --plan split.toml --load \"redis-benchmark -p 7000 -q -t get -n 100000\" \
--throughput \"([0-9.]+) requests per second\" -- redis-server --port 7000
         corehop measure --plan split.toml --require-gain 2 -- sqlite3 bank.db \".read queries.sql\"
         corehop measure --system-calls read,write,poll@batch --load ... -- mariadbd

Exit code 1 if --require-gain is not met, 8 if the patched server is slower, 7 if the server or the
load failed.")]
pub struct Arguments {
    /// Plan that `corehop partition` wrote
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "system_calls",
        help_heading = "Patched side"
    )]
    pub(super) plan: Option<PathBuf>,
    /// System calls that the patched server makes asynchronously, such as recv,send,poll@batch
    ///
    /// The value has the form of `corehop run --system-calls`. A plan is then optional.
    #[arg(
        long,
        value_name = "CALLS@WHERE",
        value_parser = checked,
        help_heading = "Patched side"
    )]
    pub(super) system_calls: Option<String>,
    /// Patched file to start, written by `corehop patch`
    ///
    /// Default: the hooks are put in place in memory.
    #[arg(long, value_name = "FILE", help_heading = "Patched side")]
    pub(super) patched: Option<PathBuf>,
    #[command(flatten)]
    pub(super) under: LoadOptions,
    /// Exact number of rounds; each measures the original and the patched server once
    ///
    /// Default: until the verdict is certain. With --within it is the minimum.
    #[arg(long, value_name = "NUMBER", help_heading = "Measurement",
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) rounds: Option<u32>,
    /// Continue until the confidence interval is within this many percent to either side
    ///
    /// A tenth of the measured change also suffices. Default: for a gain 10, or a third of it.
    #[arg(long, visible_alias = "precision", value_name = "PERCENT",
          help_heading = "Measurement", value_parser = positive_percent)]
    pub(super) within: Option<f64>,
    /// Maximum number of rounds, even if the verdict is not certain or the interval is still wider
    ///
    /// It also limits --rounds. Default: --rounds, or 20, or 100 with --within.
    #[arg(long, value_name = "NUMBER", help_heading = "Measurement", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) max_rounds: Option<u32>,
    /// Count calls of this function of the plan, on both sides, instead of loads
    ///
    /// The original then has the hooks too, but they only count.
    #[arg(
        long,
        value_name = "SYMBOL",
        requires_all = ["load", "plan"],
        conflicts_with = "throughput",
        help_heading = "Measurement",
        hide_short_help = true
    )]
    pub(super) count: Option<String>,
    /// Trace to replay, to report the predicted change with the measured one
    #[arg(
        long,
        value_name = "TRACE",
        requires = "plan",
        help_heading = "Prediction"
    )]
    pub(super) trace: Option<PathBuf>,
    /// Machine to simulate for --trace: a bundled name, `host`, or a TOML file
    ///
    /// Default: the machine of the plan, or the first of several.
    #[arg(
        long,
        value_name = "NAME|FILE",
        requires = "trace",
        help_heading = "Prediction",
        hide_short_help = true
    )]
    pub(super) machine: Option<String>,
    /// Number of connections that the load keeps busy, for the predicted throughput
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "trace",
          help_heading = "Prediction", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) connections: u32,
    /// Exit with code 1 unless the lower end of the interval is a gain of at least this many
    /// percent
    #[arg(long, value_name = "PERCENT", help_heading = "Output", value_parser = percent)]
    pub(super) require_gain: Option<f64>,
    /// Print one JSON object instead of the table
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Original program, found in PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// One round has no interval.
const FEWEST_ROUNDS: u32 = 2;

/// Default of `--max-rounds`.
const MOST_ROUNDS: u32 = 20;

/// Default of `--max-rounds` with `--within`.
const MOST_ROUNDS_WITHIN: u32 = 100;

/// The text is not a valid gain.
#[derive(Debug, thiserror::Error)]
#[error("a gain is a number of percent, such as 2.5")]
struct NoPercent;

fn percent(text: &str) -> Result<f64, NoPercent> {
    match text.parse() {
        Ok(percent) if f64::is_finite(percent) => Ok(percent),
        _ => Err(NoPercent),
    }
}

impl Arguments {
    /// Returns when to end the rounds.
    pub(super) fn limits(&self) -> Limits {
        let question = match self.require_gain {
            Some(percent) => Question::AtLeast { percent },
            None => Question::Difference,
        };
        let usual = match self.within {
            Some(_) => MOST_ROUNDS_WITHIN,
            None => MOST_ROUNDS,
        };
        let fewest = self.rounds.unwrap_or(FEWEST_ROUNDS);
        let fewest = fewest.min(self.max_rounds.unwrap_or(u32::MAX));
        match (self.rounds, self.within) {
            (Some(_), None) => Limits::fixed(fewest, question),
            _ => Limits {
                question,
                fewest,
                most: self.max_rounds.unwrap_or(usual.max(fewest)),
                within_percent: self.within,
                time: None,
            },
        }
    }
}
