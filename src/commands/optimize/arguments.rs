//! The command line of `corehop optimize`.

use super::system_calls::{Wanted, wanted};
use crate::options::load_options::{LoadOptions, positive_percent};
use crate::options::words::word;
use clap::Args;
use corehop_support::quantity::duration::seconds;
use corehop_support::quantity::size::{Size, mebibytes};
use std::path::PathBuf;
use std::time::Duration;

/// Record a server, search for plans, measure them, and keep what makes the server faster
///
/// This is the whole pipeline in one command. It records COMMAND under QEMU while --load drives it,
/// and searches for the best plans for the caches of this machine. Then it measures each of these
/// plans on this machine against the original. If the server has a thread per connection, it also
/// measures asynchronous system calls, which io_uring makes in batches.
///
/// It keeps the fastest variant, and prints the command that starts it; start.sh in the output
/// folder is the same command. With COREHOP_CONTROL=FILE, `echo off >FILE` stops all hops of the
/// started server. If no speedup is found, it prints the figure that shows why. Hooks are installed
/// in memory; no file of the server changes.
///
/// The shell command of --load runs when the server is ready, several times. It must tolerate that
/// the server is 10 to 70 times slower under QEMU. Without --load, COMMAND itself is the load, and
/// must end when its work is done.
#[derive(Args)]
#[command(after_help = "\
Example: corehop optimize --load \"redis-benchmark -p 7000 -q -t get -n 100000\" \
-- redis-server --port 7000 --save \"\"
         corehop optimize --prepare ./fill.sh --load ./queries.sh --request-at dispatch_command \
-- mariadbd --datadir bank

Exit code 0 if the server became faster, 1 if no speedup was found, 7 if the server or the load
failed.")]
pub struct Arguments {
    #[command(flatten)]
    pub(super) under: LoadOptions,
    /// Where a request begins: a function, `magic`, or `syscalls`
    ///
    /// The values are those of `corehop record --request-at`. With `syscalls`, a request begins
    /// when the server reads from a connection after it answered all earlier input.
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "syscalls",
        help_heading = "Recording"
    )]
    pub(super) request_at: String,
    /// Number of requests to record
    #[arg(long, value_name = "NUMBER", default_value_t = 100, help_heading = "Recording",
          value_parser = clap::value_parser!(u64).range(2..))]
    pub(super) requests: u64,
    /// Time limit of the recording from the start of the server, in seconds or with a unit, such as
    /// 10m
    #[arg(
        long,
        value_name = "TIME",
        default_value = "600",
        value_parser = seconds,
        help_heading = "Recording",
        hide_short_help = true
    )]
    pub(super) record_within: Duration,
    /// Limit of the resident memory of server and recorder together, in MiB or with a unit, such as
    /// 2G
    ///
    /// If they exceed it, corehop ends the recording and the server.
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4096",
        value_parser = mebibytes,
        help_heading = "Recording",
        hide_short_help = true
    )]
    pub(super) memory_limit: Size,
    /// Search this trace of the server instead of recording one
    #[arg(long, value_name = "TRACE", help_heading = "Recording")]
    pub(super) trace: Option<PathBuf>,
    /// Machine to simulate: a bundled name, `host`, or a TOML file
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "host",
        help_heading = "Search"
    )]
    pub(super) machine: String,
    /// Maximum number of cores to hop between
    ///
    /// Plans never use more than 8 cores, or more physical cores than the server may use here.
    #[arg(long, value_name = "CORES", default_value_t = 8, help_heading = "Search",
          value_parser = clap::value_parser!(u32).range(2..))]
    pub(super) cores: u32,
    /// Maximum number of plans to measure, from 1 to 20, the best predicted first
    #[arg(long, value_name = "NUMBER", default_value_t = 3, help_heading = "Search",
          hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(super) plans: u32,
    /// System calls to make asynchronously: `auto`, `none`, or a list such as recv,send,poll@batch
    ///
    /// `auto` tries batches of the calls that the requests make, unless one thread serves all
    /// connections. `none` tries plans only. A list has the form that `corehop run --system-calls`
    /// accepts (docs/reference/system-calls.md).
    #[arg(long, value_name = "auto|none|CALLS@WHERE", default_value = "auto",
          help_heading = "Search", value_parser = wanted)]
    pub(super) system_calls: Wanted,
    /// Measure the best plans even if none is predicted to make the server faster
    #[arg(
        long = "ignore-verdict",
        alias = "anyway",
        help_heading = "Measurement",
        hide_short_help = true
    )]
    pub(super) anyway: bool,
    /// Smallest gain that matters, in percent
    ///
    /// Measuring stops when the server is certainly faster, or certainly not faster by this much. A
    /// smaller value takes more rounds.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, help_heading = "Measurement",
          value_parser = positive_percent)]
    pub(super) smallest_gain: f64,
    /// Continue after the verdict until the confidence interval is within this many percent
    ///
    /// A tenth of the measured change also suffices. Default: for a gain 10, or a third of it.
    #[arg(long, visible_alias = "precision", value_name = "PERCENT",
          help_heading = "Measurement", value_parser = positive_percent)]
    pub(super) within: Option<f64>,
    /// Maximum number of rounds, even if the verdict is not certain
    #[arg(long, value_name = "NUMBER", default_value_t = 20, help_heading = "Measurement",
          hide_short_help = true, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) max_rounds: u32,
    /// Measuring time after which no further round starts, in seconds or with a unit, such as 10m
    ///
    /// At least two rounds are measured. Default: no limit.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = seconds,
        help_heading = "Measurement",
        hide_short_help = true
    )]
    pub(super) time_limit: Option<Duration>,
    /// Folder for the results: plan.toml, report.html, result.json, server.trace, and start.sh
    #[arg(
        short,
        long,
        value_name = "FOLDER",
        default_value = "corehop-optimize",
        help_heading = "Output"
    )]
    pub(super) output: PathBuf,
    /// Replace the results of an earlier run in that folder
    #[arg(long, help_heading = "Output")]
    pub(super) force: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Server, found in PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_parser = word())]
    pub(super) command: Vec<String>,
}
