//! `corehop record`: runs a server under QEMU with the plugin and writes the trace.
//!
//! The crate `corehop-recorder` records; this file has its options.

use crate::failure::{Exit, Failure};
use crate::options::words::word;
use crate::recording::{self, CARRIED};
use clap::Args;
use corehop_recorder::{Allocator, Options, SystemOptions};
use corehop_support::quantity::size::{NoSize, Size, mebibytes};
use std::path::PathBuf;

/// Record the memory accesses of a server while it serves requests
///
/// The server runs under QEMU with a plugin, 10 to 70 times slower than usual. Drive it with your
/// usual load from another terminal. The trace contains the code that the server and the programs
/// started by it execute, and each load and store. A server that already runs cannot be recorded.
///
/// A request is what one thread does from one request start (--request-at) to its next. Recording
/// starts with the first request. With --requests N, requests 1 to N are recorded to their end. A
/// request ends when the next one begins on its thread, when the thread ends, or when the server
/// becomes idle. Send at least N + 1 requests on each connection, so that no recorded request is
/// cut.
///
/// With --of M, corehop draws N of the first M requests at random, without those of a pause.
/// Between drawn requests that are at least 1000 apart, the server runs at QEMU's normal speed.
///
/// `corehop control` pauses, resumes, and annotates a running recording. A recording that is killed
/// leaves TRACE.partial, which is a readable trace.
#[derive(Args)]
#[command(after_help = "\
Example: corehop record -o bank.trace --request-at dispatch_command --requests 200 \
-- mariadbd ...")]
pub struct Arguments {
    /// Trace file to write
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,

    /// Where a request begins: a function, `magic`, or `syscalls`
    ///
    /// A function is NAME, MODULE:NAME, or MODULE+0xOFFSET; a request begins at its entry. `magic`
    /// means any no-op marker of corehop.h, and `magic:ID` only the marker with this number.
    ///
    /// With `syscalls`, a request begins when a thread receives a datagram, or reads from a
    /// connection after the server answered all earlier input. It cannot be used with --system.
    /// docs/guide/requests.md helps to choose.
    #[arg(long, value_name = "WHERE", help_heading = "Requests")]
    request_at: String,

    /// Stop after this many requests
    ///
    /// Default: record all requests until the server ends.
    #[arg(long, value_name = "N", help_heading = "Requests",
          value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,

    /// Draw the requests at random among the first M, and record no others
    ///
    /// Default: record the first N requests.
    #[arg(long, value_name = "M", requires = "requests", help_heading = "Requests",
          value_parser = clap::value_parser!(u64).range(1..))]
    of: Option<u64>,

    /// Random seed for --of; the same seed draws the same request numbers
    #[arg(
        long,
        value_name = "SEED",
        default_value_t = 1,
        requires = "of",
        help_heading = "Requests",
        hide_short_help = true
    )]
    seed: u64,

    /// Record no requests until `corehop control start`
    #[arg(long, help_heading = "Requests")]
    paused: bool,

    /// Limit of the resident memory of server and recorder together, in MiB or with a unit, such as
    /// 2G
    ///
    /// If they exceed it, corehop ends the recording and the server. The trace keeps what was
    /// recorded before.
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4096",
        value_parser = mebibytes,
        help_heading = "Recording"
    )]
    memory_limit: Size,

    /// Compression level of zstd, from 1 (fastest) to 19 (smallest)
    #[arg(long, value_name = "LEVEL", default_value_t = 1, help_heading = "Recording",
          hide_short_help = true, value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,

    /// Instrument every access, including those that corehop could derive from others
    ///
    /// The trace is the same; recording is slower.
    #[arg(long, help_heading = "Recording", hide_short_help = true)]
    no_elision: bool,

    /// Function that returns memory, as zmalloc does; can be repeated
    ///
    /// Its first argument is the number of bytes, or with `:ARGUMENT` another one, from 1 to 6.
    /// `corehop profile --by object` then names objects by its callers instead of the allocator
    /// calls in it. Those of libc, C++, jemalloc, and tcmalloc are known.
    #[arg(
        long = "allocator",
        value_name = "FUNCTION[:ARGUMENT]",
        conflicts_with = "system",
        help_heading = "Recording",
        hide_short_help = true
    )]
    allocators: Vec<Allocator>,

    /// Library to preload into the server, such as one that marks requests
    ///
    /// It is in `LD_PRELOAD` of the server, not of QEMU (docs/guide/requests.md).
    #[arg(
        long,
        value_name = "LIBRARY",
        help_heading = "Recording",
        hide_short_help = true
    )]
    preload: Option<PathBuf>,

    /// Keep the server running, unrecorded, after the last request to record
    ///
    /// Default: the server ends with the recording. This cannot be used with --system.
    #[arg(long, help_heading = "Recording")]
    keep_running: bool,

    /// Record the operating system too, in a virtual machine
    ///
    /// The virtual machine has the files that the server's arguments and --load name
    /// (docs/guide/system.md).
    #[arg(long, help_heading = "Virtual machine")]
    system: bool,

    /// Shell command that puts the server in the virtual machine under load and then ends
    ///
    /// It starts when the server listens. The recording ends with it. Without --load, the server
    /// must have work to do without a client.
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "system",
        help_heading = "Virtual machine"
    )]
    load: Option<String>,

    /// File or folder to copy into the virtual machine, at the same path; can be repeated
    #[arg(
        long,
        value_name = "PATH",
        requires = "system",
        help_heading = "Virtual machine"
    )]
    copy: Vec<PathBuf>,

    /// Folder whose contents are copied into the root folder of the virtual machine
    #[arg(
        long,
        value_name = "DIR",
        requires = "system",
        help_heading = "Virtual machine",
        hide_short_help = true
    )]
    rootfs: Option<PathBuf>,

    /// Number of CPUs of the virtual machine, from 1 to 16; QEMU runs one at a time
    #[arg(long, value_name = "CPUS", default_value_t = 1, requires = "system",
          help_heading = "Virtual machine", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(1..=16))]
    guest_cpus: u32,

    /// Memory of the virtual machine, in MiB or with a unit, such as 2G; from 128 MiB to 3 GiB
    #[arg(long, value_name = "SIZE", default_value = "1024", requires = "system",
          help_heading = "Virtual machine", hide_short_help = true, value_parser = guest_memory)]
    guest_memory: Size,

    /// Replace an existing trace
    ///
    /// This also replaces the TRACE.partial of a recording that was killed.
    #[arg(long)]
    force: bool,

    /// Server and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND", value_parser = word())]
    command: Vec<String>,
}

/// The text is not a valid memory size of a virtual machine.
#[derive(Debug, thiserror::Error)]
enum NoGuestMemory {
    #[error(transparent)]
    Size(#[from] NoSize),
    #[error("a virtual machine has 128 MiB to 3 GiB of memory")]
    Range,
}

fn guest_memory(text: &str) -> Result<Size, NoGuestMemory> {
    let size = mebibytes(text)?;
    match (128..=3072).contains(&size.mebibytes()) {
        true => Ok(size),
        false => Err(NoGuestMemory::Range),
    }
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
            memory_limit: self.memory_limit,
            compression_level: self.level,
            elision: !self.no_elision,
            allocators: self.allocators.clone(),
            preload: self.preload.clone(),
            keep_running: self.keep_running,
            force: self.force,
            log: None,
            command: self.command.clone(),
            system: self.system.then(|| SystemOptions {
                load: self.load.clone(),
                copied: self.copy.clone(),
                rootfs: self.rootfs.clone(),
                memory_mib: self.guest_memory.mebibytes(),
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
