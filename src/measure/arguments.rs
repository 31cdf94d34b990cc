//! The command line of `corehop measure`.

use crate::load_options::{LoadOptions, width};
use crate::posted_calls::checked;
use clap::Args;
use corehop_measure::rounds::Limits;
use std::ffi::OsString;
use std::path::PathBuf;

/// Measure whether a plan, or posted system calls, make a server faster, on this machine
///
/// COMMAND is started anew for each trial: as it is, then with the plan's hops put in place in
/// memory (or as --patched FILE) and its system calls posted, in turn. When it is ready, --load is
/// run as a shell command, some times to warm up and once to count. Without --load, COMMAND must
/// end by itself and is the load.
///
/// Throughput is the number that --throughput finds in what the load prints, or how often --count
/// was called a second, or else how many such loads fit into a second. How the patched server hops
/// is chosen by COREHOP_BACKEND (carrier where that is not set, or affinity where carriers cannot
/// be used here) and COREHOP_CPUS; to give both sides the same CPUs, start corehop under taskset.
#[derive(Args)]
#[command(after_help = "\
Example: corehop measure --plan split.toml --load \"redis-benchmark -p 7000 -q -t get -n 100000\" \
--throughput \"([0-9.]+) requests per second\" -- redis-server --port 7000
         corehop measure --plan split.toml --require-gain 2 -- sqlite3 bank.db \".read queries.sql\"
         corehop measure --system-calls read,write,poll@batch --load ... -- mariadbd

Exit code 1 when --require-gain is not met; 8 when the patched server is slower; 7 when the server
or the load fails.")]
pub struct Arguments {
    /// The plan, as `corehop partition` writes it
    #[arg(long, value_name = "FILE", required_unless_present = "system_calls")]
    pub(super) plan: Option<PathBuf>,
    /// Have the patched server post these calls of libc, as `corehop run --system-calls` does: with
    /// a plan, or without one
    #[arg(long, value_name = "CALLS@WHERE", value_parser = checked)]
    pub(super) system_calls: Option<String>,
    /// Have cores of the patched server take up to so many threads of one hook in turn, as `corehop
    /// run --cohort` does
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) cohort: Option<u32>,
    /// Start this file, which `corehop patch` wrote, instead of putting hooks in place in memory
    #[arg(long, value_name = "FILE")]
    pub(super) patched: Option<PathBuf>,
    #[command(flatten)]
    pub(super) under: LoadOptions,
    /// How often original and patched take turns
    #[arg(long, value_name = "NUMBER", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) rounds: u32,
    /// Go on after these rounds until the interval is no wider than this to either side, or a tenth
    /// of the change
    #[arg(long, visible_alias = "precision", value_name = "PERCENT", value_parser = width)]
    pub(super) within: Option<f64>,
    /// Measure no more rounds than this, even if the interval is wider then
    #[arg(long, value_name = "NUMBER", requires = "within", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) max_rounds: u32,
    /// Count calls of this function of the plan instead, on both sides: the original then has the
    /// hooks too, but they only count
    #[arg(
        long,
        value_name = "SYMBOL",
        requires_all = ["load", "plan"],
        conflicts_with = "throughput"
    )]
    pub(super) count: Option<String>,
    /// Replay this trace, to say beside what was measured what was to be expected
    #[arg(long, value_name = "TRACE", requires = "plan")]
    pub(super) trace: Option<PathBuf>,
    /// The machine to replay it on: a bundled name, `host`, or a TOML file. Default: the plan's
    #[arg(long, value_name = "NAME|FILE", requires = "trace")]
    pub(super) machine: Option<String>,
    /// How many connections the load keeps busy, for what was to be expected
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "trace",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) connections: u32,
    /// Fail unless the whole interval lies at least so many percent above no change
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(super) require_gain: Option<f64>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(super) json: bool,
    /// The original program, looked for on PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
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

impl Arguments {
    /// When enough was measured.
    pub(super) fn limits(&self) -> Limits {
        match self.within {
            None => Limits::fixed(self.rounds),
            Some(within_percent) => Limits {
                fewest: self.rounds,
                most: self.max_rounds.max(self.rounds),
                within_percent,
                time: None,
            },
        }
    }
}
