//! `corehop record`: runs a server under QEMU with the plugin and writes the trace.
//!
//! The plugin writes into memory that this process shares; this process, on another core, builds
//! the trace's columns, compresses and writes. Reading order: `session` is the loop, `transcript`
//! turns words into a trace, `marker` and `modules` know the binaries.

mod accounting;
mod beside;
mod binary;
mod choice;
mod command;
pub mod control;
mod cost;
mod forked_pages;
mod gauge;
mod latest;
mod linked;
mod marker;
mod modules;
mod outcome;
mod progress;
mod session;
mod sharing;
pub mod tools;
mod transcript;

use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::during;
use crate::traced;
use clap::Args;
use control::ControlSocket;
use corehop_measurer::server::printed::{create, unwritable};
use corehop_processes::Process;
use corehop_ring::{Memory, RequestMarker, Settings};
use corehop_traces::{Header, Writer, WriterOptions};
use gauge::Gauge;
use modules::Modules;
use outcome::finish_trace;
use rustix::process::{Signal, set_parent_process_death_signal};
use session::{Over, Session};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use transcript::Transcript;

pub use beside::{Driver, Recorded};

const MIB: u64 = 1 << 20;
const RAISE_FILE_LIMIT: &str = "raise the limit on file sizes (`ulimit -f`), which also counts for \
                                the 18 MiB that are shared with the server";

/// Record what a server touches while it serves requests
#[derive(Args)]
#[command(after_help = "\
Example: corehop record -o bank.trace --request-at dispatch_command --requests 200 -- mariadbd ...

A request is what one thread does from one entry of FUNCTION to its next. Nothing is recorded before
the first. With --requests, requests 1 to N are recorded to their end, each by the next one on its
thread, the thread's end, or the server falling idle; send at least one more than N on each
connection, so that none is cut short. Keep the server in the foreground.
With --of, N requests are chosen by chance among the first M, and only they slow the server down,
but for about a second each time that it is instrumented anew. `corehop control` starts and stops
a recording that runs. Killed recordings leave TRACE.partial, which is a trace.")]
pub struct Arguments {
    /// Where to write the trace
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,

    /// Where a request begins: at the entry of a function, NAME, MODULE:NAME or MODULE+0xOFFSET; at
    /// `magic`, the no-op of include/corehop.h, or `magic:ID`, one of them; or as `syscalls` tell,
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

    /// Replace the trace where it exists
    #[arg(long)]
    force: bool,

    /// Where the server's messages go instead of where corehop's own go; it then ends with corehop
    #[arg(skip)]
    log: Option<PathBuf>,

    /// The server and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    /// Of a command that records among other things: what has no option there is as it is here.
    pub fn of(
        output: PathBuf,
        (request_at, requests): (String, u64),
        (log, memory_limit): (PathBuf, u64),
        command: Vec<String>,
    ) -> Arguments {
        Arguments {
            output,
            request_at,
            requests: Some(requests),
            of: None,
            seed: 1,
            paused: false,
            memory_limit,
            level: 1,
            no_elision: false,
            preload: None,
            keep_running: false,
            force: false,
            log: Some(log),
            command,
        }
    }

    /// The same, with nothing recorded until a driver starts it.
    pub fn paused(self, paused: bool) -> Arguments {
        Arguments { paused, ..self }
    }

    /// The same, in place of a trace that is there.
    pub fn replacing(self, force: bool) -> Arguments {
        Arguments { force, ..self }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    record(arguments, None)
}

/// The same for a command that records among other things, and has someone drive the server
/// meanwhile; signals are listened for already.
pub fn run_driven(arguments: &Arguments, driver: Driver<'_>) -> Result<(), Failure> {
    record(arguments, Some(driver))
}

fn record(arguments: &Arguments, driver: Option<Driver<'_>>) -> Result<(), Failure> {
    check_output(arguments)?;
    let tools = tools::find()?;
    let program = command::find(&arguments.command[0])?;
    console::detail(&format!(
        "QEMU {}, {}",
        tools.qemu.version,
        tools.qemu.path.display()
    ));
    let marker = during("reading the functions of the server", || {
        marker::resolve(&arguments.request_at, &program.resolved)
    })?;
    if let RequestMarker::At { path, file_offset } = &marker {
        console::detail(&format!("requests begin at {path}+{file_offset:#x}"));
    }
    let preload = preload(arguments)?;
    let listed = choice::numbers(arguments.requests, arguments.of, arguments.seed)?;
    let (memory, file) = share_memory(arguments, &listed, &marker)?;
    if driver.is_none() {
        interrupt::listen()?;
    }
    // From here on what fails removes the trace that was begun: the next recording refuses to.
    let writer = create_trace(arguments, &tools)?;
    let control_socket = ControlSocket::open(&arguments.output, arguments.force);
    let mut transcript = Transcript::new(writer, Modules::new(&program.resolved));

    let mut command = under_qemu(arguments, &tools, &program, &file, preload);
    log(arguments, &mut command)?;
    let started = Process::spawn(&mut command).map_err(|error| {
        let message = format!("cannot start {}: {error}", tools.qemu.path.display());
        Failure::new(Exit::Missing, message).remedy("`corehop doctor` tries it")
    });
    let mut server = started.inspect_err(|_| traced::abandon(&arguments.output))?;
    let mut gauge = Gauge::new(&arguments.output, server.id(), arguments.requests);
    let recorded = Recorded::new(&memory, server.id());
    let session = Session {
        memory: &memory,
        server: &mut server,
        memory_limit_bytes: arguments.memory_limit.saturating_mul(MIB),
        gauge: &mut gauge,
        control_socket: control_socket.as_ref(),
        must_end: &|| interrupt::is_asked() || recorded.is_given_up(),
    };
    let (over, driven) = beside::run(&recorded, driver, session, &mut transcript);
    let finished = finish_trace(arguments, &memory, transcript, &over);
    drop(control_socket);
    if let (Err(failure), Over::Failed(_)) = (&finished, &over) {
        console::warn(&format!(
            "recording has stopped, and the server goes on: {failure}"
        ));
    }
    finish_server(arguments, &mut server, &over);
    match over {
        // Of two that failed the server was first: the load failed for want of it.
        Over::Interrupted if !interrupt::is_asked() => driven.and(finished),
        _ => finished,
    }
}

/// Sends the server's messages to the log, if there is one. Who asked for one watches the recording
/// and has more to do after it, so the server is not to outlive this process.
fn log(arguments: &Arguments, command: &mut Command) -> Result<(), Failure> {
    let Some(path) = &arguments.log else {
        return Ok(());
    };
    let out = create(path)?;
    let error = out.try_clone().map_err(|error| unwritable(path, error))?;
    command.stdin(Stdio::null()).stdout(out).stderr(error);
    let end_with_this_process = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: between fork and exec it makes one system call and nothing else.
    unsafe { command.pre_exec(end_with_this_process) };
    Ok(())
}

/// The server as it is to be started.
fn under_qemu(
    arguments: &Arguments,
    tools: &tools::Tools,
    program: &command::Program,
    memory: &OwnedFd,
    preload: Option<PathBuf>,
) -> Command {
    let shared = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    let mut command = tools.command(Path::new(&shared), !arguments.no_elision);
    // Of the server's environment alone: QEMU itself is to load no more than it needs.
    if let Some(library) = preload {
        let mut variable = OsString::from("LD_PRELOAD=");
        variable.push(library);
        command.arg("-E").arg(variable);
    }
    command.arg(&program.path).args(&arguments.command[1..]);
    command
}

fn check_output(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.output;
    if path.as_os_str() == "-" {
        let message = "a trace cannot be written to standard output";
        return Err(Failure::new(Exit::Usage, message).remedy("name a file with -o"));
    }
    traced::check(path, arguments.force)?;
    control::check(path, arguments.force)
}

/// The library to load first, as a path that holds wherever the server changes its folder to.
fn preload(arguments: &Arguments) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = &arguments.preload else {
        return Ok(None);
    };
    let found = path.canonicalize().map_err(|error| {
        let message = format!("--preload {}: {error}", path.display());
        Failure::new(Exit::Input, message).remedy("name the library by its path")
    })?;
    Ok(Some(found))
}

fn share_memory(
    arguments: &Arguments,
    listed: &[u64],
    marker: &RequestMarker,
) -> Result<(Memory, OwnedFd), Failure> {
    let settings = Settings {
        request_limit: arguments.requests.unwrap_or(u64::MAX),
        listed: listed.len() as u32,
        ..Settings::default()
    };
    let shared = Memory::create(&settings);
    let (memory, file) = shared.map_err(|error| {
        let remedy = match error.is_file_limit() {
            true => RAISE_FILE_LIMIT,
            false => "`corehop doctor` says how much memory is free",
        };
        Failure::new(Exit::Missing, error).remedy(remedy)
    })?;
    memory.set_listed(listed);
    memory.set_paused(arguments.paused);
    memory.set_marker(marker);
    Ok((memory, file))
}

fn create_trace(arguments: &Arguments, tools: &tools::Tools) -> Result<Writer, Failure> {
    let header = Header {
        created_by: concat!("corehop ", env!("CARGO_PKG_VERSION")).into(),
        command: arguments.command.clone(),
        request_at: arguments.request_at.clone(),
        qemu_version: tools.qemu.version.clone(),
        architecture: "x86_64".into(),
        has_address_spaces: true,
    };
    let options = WriterOptions {
        compression_level: arguments.level,
        ..WriterOptions::default()
    };
    traced::begin(&arguments.output, arguments.force, &header, &options)
}

/// Ends the server, unless it may run on: then waits until it has ended by itself.
fn finish_server(arguments: &Arguments, server: &mut Process, over: &Over) {
    let runs_on = match over {
        Over::Requests => arguments.keep_running,
        Over::Failed(_) => true,
        _ => false,
    };
    if runs_on {
        while server.ended().is_none() && !interrupt::is_asked() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let before = interrupt::count();
    server.end(|| interrupt::count() > before);
}
