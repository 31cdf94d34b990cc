//! `corehop record`: runs a server under QEMU with the plugin and writes the trace.
//!
//! The recorder itself is a crate, `corehop-recorder`; here are its options.

use crate::failure::{Exit, Failure};
use crate::recording::{self, CARRIED};
use clap::Args;
use corehop_recorder::{Options, SystemOptions};
use std::path::PathBuf;

/// Record what a server touches while it serves requests
#[derive(Args)]
#[command(after_help = "\
Example: corehop record -o bank.trace --request-at dispatch_command --requests 200 -- mariadbd ...

A request is what one thread does from one entry of FUNCTION to its next. Nothing is recorded before
the first. With --requests, requests 1 to N are recorded to their end, each by the next one on its
thread, the thread's end, or the server falling idle; send at least one more than N on each
connection, so that none is cut short. What the server executes is recorded as well.
With --of, N requests are chosen by chance among the first M, and only they slow the server down,
but for about a second each time that it is instrumented anew. `corehop control` starts and stops
a recording that runs. Killed recordings leave TRACE.partial, which is a trace.")]
pub struct Arguments {
    /// Where to write the trace
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,

    /// Where a request begins: at the entry of a function, NAME, MODULE:NAME or MODULE+0xOFFSET; at
    /// `magic`, the no-op of corehop.h, or `magic:ID`, one of them; or as `syscalls` tell,
    /// where a thread reads from a connection that has had an answer to all it sent before
    #[arg(long, value_name = "WHERE")]
    request_at: String,

    /// Stop after this many requests; without it, record until the server ends
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// Choose these requests by chance among the first M, and record no others
    #[arg(long, value_name = "M", requires = "requests",
          value_parser = clap::value_parser!(u64).range(1..))]
    of: Option<u64>,

    /// What the choice follows from: the same seed chooses the same numbers
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "of")]
    seed: u64,

    /// Record nothing until `corehop control start` says so
    #[arg(long)]
    paused: bool,

    /// End the recording, and the server, when both take more resident memory than this
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    memory_limit: u64,

    /// Compression level of zstd, 1 (fast) to 19 (small)
    #[arg(long, value_name = "LEVEL", default_value_t = 1,
          value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,

    /// See each access by itself, also those that follow from others: the same trace, more slowly
    #[arg(long)]
    no_elision: bool,

    /// A library that the server is to load first: one that marks requests (docs/guide/requests.md)
    #[arg(long, value_name = "LIBRARY")]
    preload: Option<PathBuf>,

    /// Let the server run on, unrecorded, when enough requests are recorded
    #[arg(long)]
    keep_running: bool,

    /// Record the operating system, too: a machine is started that has the files which the server
    /// and --load name (docs/guide/system.md)
    #[arg(long)]
    system: bool,

    /// What puts the server on that machine under load when it listens, as a shell command that
    /// ends; without it the server has to do something by itself
    #[arg(long, value_name = "COMMAND", requires = "system")]
    load: Option<String>,

    /// A file or a folder with all that is in it that this machine has at the same path; may be
    /// given several times
    #[arg(long, value_name = "PATH", requires = "system")]
    copy: Vec<PathBuf>,

    /// A folder whose contents that machine's root has as well
    #[arg(long, value_name = "DIR", requires = "system")]
    rootfs: Option<PathBuf>,

    /// Processors of that machine, which take turns
    #[arg(long, value_name = "CPUS", default_value_t = 1, requires = "system",
          value_parser = clap::value_parser!(u32).range(1..=16))]
    guest_cpus: u32,

    /// Memory of that machine
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "system",
          value_parser = clap::value_parser!(u64).range(128..=3072))]
    guest_memory: u64,

    /// Replace the trace where it exists
    #[arg(long)]
    force: bool,

    /// The server and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    fn options(&self) -> Options {
        Options {
            output: self.output.clone(),
            request_at: self.request_at.clone(),
            requests: self.requests,
            of: self.of,
            seed: self.seed,
            paused: self.paused,
            memory_limit_mib: self.memory_limit,
            compression_level: self.level,
            elision: !self.no_elision,
            preload: self.preload.clone(),
            keep_running: self.keep_running,
            force: self.force,
            log: None,
            command: self.command.clone(),
            system: self.system.then(|| SystemOptions {
                load: self.load.clone(),
                copied: self.copy.clone(),
                rootfs: self.rootfs.clone(),
                memory_mib: self.guest_memory,
                cpus: self.guest_cpus,
            }),
            plugins: CARRIED,
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.output.as_os_str() == "-" {
        let message = "a trace cannot be written to standard output";
        return Err(Failure::new(Exit::Usage, message).remedy("name a file with -o"));
    }
    recording::run(arguments.options())
}
