//! The command line of `corehop optimize`.

use super::system_calls::{Wanted, wanted};
use crate::load_options::{LoadOptions, width};
use clap::Args;
use std::path::PathBuf;

/// Do the whole job: record a server, find what may help, measure; make it faster if it can be
///
/// COMMAND is started under QEMU and recorded while --load drives it, and searched for the best
/// plans for this machine's caches. Then it is measured as it is, with each of the best plans' hops
/// put in place in memory, and, where threads each serve a connection, with its system calls made
/// many at a time, in turn. What is best is kept, and the one command that starts the server so is
/// printed; or it is said that nothing pays here, and by which figure.
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
    pub(super) under: LoadOptions,
    /// Where a request begins, as `corehop record` takes it: a function's entry, `magic`, or what
    /// the server reads and writes
    #[arg(long, value_name = "WHERE", default_value = "syscalls")]
    pub(super) request_at: String,
    /// How many requests to record
    #[arg(long, value_name = "NUMBER", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(2..))]
    pub(super) requests: u64,
    /// How long the recording may take, from the start of the server on
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(super) record_within: u64,
    /// End the recording, and the server, when both take more resident memory than this
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub(super) memory_limit: u64,
    /// Search this trace of the server, and record none
    #[arg(long, value_name = "TRACE")]
    pub(super) trace: Option<PathBuf>,
    /// The machine to simulate: a bundled name, `host`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "host")]
    pub(super) machine: String,
    /// Hop between no more cores than this, and never more than this machine lets a server use
    #[arg(long, value_name = "CORES", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(2..))]
    pub(super) cores: u32,
    /// Measure no more plans than this, the best predicted ones
    #[arg(long, value_name = "NUMBER", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(super) plans: u32,
    /// Try system calls that are posted, beside plans: `auto` those that the requests make, in
    /// batches, where not one thread serves all connections; `none`; or these, as `corehop run`
    /// takes them (docs/reference/system-calls.md)
    #[arg(long, value_name = "auto|none|CALLS@WHERE", default_value = "auto",
          value_parser = wanted)]
    pub(super) system_calls: Wanted,
    /// Measure the best plans also where none is predicted to pay
    #[arg(long)]
    pub(super) anyway: bool,
    /// Measure until the interval is no wider than this to either side
    #[arg(long, visible_alias = "precision", value_name = "PERCENT", default_value_t = 2.0,
          value_parser = width)]
    pub(super) within: f64,
    /// Measure what does best in no more rounds than this, even if the interval is wider then
    #[arg(long, value_name = "NUMBER", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) max_rounds: u32,
    /// Begin no more rounds after so many seconds of measuring; two are made in any case
    #[arg(long, value_name = "SECONDS")]
    pub(super) time_limit: Option<u64>,
    /// The folder for the trace, the plan, the report, the result and what starts the server
    #[arg(short, long, value_name = "FOLDER", default_value = "corehop-optimize")]
    pub(super) output: PathBuf,
    /// Replace what an earlier run has left in that folder
    #[arg(long)]
    pub(super) force: bool,
    /// Print one JSON object instead of the text
    #[arg(long)]
    pub(super) json: bool,
    /// The server, looked for on PATH, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}
