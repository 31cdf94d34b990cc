//! `corehop import`: converts a trace of another tool into a corehop trace.
//!
//! The input may come from a pipe and be larger than memory, so it is converted in one pass. The
//! formats are in `corehop_traces::convert`.

mod program;

use crate::failure::{Exit, Failure};
use crate::options::streams;
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::progress::Bar;
use clap::{Args, ValueEnum};
use corehop_partitioner::progress::Progress;
use corehop_recorder::trace_file;
use corehop_support::format::number::counted;
use corehop_traces::convert::drmemtrace::Program;
use corehop_traces::convert::{Error, Imported, Options, champsim, drmemtrace, lackey};
use corehop_traces::{Header, Writer, WriterOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Convert a trace of another tool to a corehop trace
///
/// The result can be replayed, checked, and exported. Traces of drmemtrace and `ChampSim` also
/// contain functions: with --request-at, they can be searched for plans. docs/reference/exchange.md
/// describes what corehop keeps of each format.
#[derive(Args)]
#[command(after_help = "\
Examples:
  valgrind --tool=lackey --trace-mem=yes --log-file=ls.lackey ls
  corehop import --format lackey --join ls.lackey -o ls.trace
  drrun -t drmemtrace -offline -- ./bank
  corehop import --format drmemtrace drmemtrace.bank.1.0.dir -o bank.trace
  corehop import --format champsim 600.perlbench_s-210B.champsimtrace.xz -o perl.trace")]
pub struct Arguments {
    /// File to read, or folder that drmemtrace wrote; `-` for standard input
    #[arg(value_name = "FILE|FOLDER")]
    input: PathBuf,
    /// Format of the input
    #[arg(long, value_enum)]
    format: Format,
    /// Trace file to write
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,
    /// Address of the instruction at which each request begins, such as 0x401a30, or a function
    ///
    /// A function must be in the symbols of a module of a drmemtrace, or in its list of functions.
    ///
    /// Default: the request markers of a drmemtrace that corehop wrote; otherwise no requests.
    #[arg(long, value_name = "ADDRESS|FUNCTION")]
    request_at: Option<String>,
    /// Count one fetch per line of code for adjacent instructions, as a recording does
    ///
    /// This applies to the format `lackey` only. Default: each `I` record is a fetch on each line
    /// that it covers.
    #[arg(long)]
    join: bool,
    /// Compression level of zstd, from 1 (fastest) to 19 (smallest)
    #[arg(long, value_name = "LEVEL", default_value_t = 3,
          value_parser = clap::value_parser!(i32).range(1..=19))]
    level: i32,
    /// Replace an existing trace
    #[arg(long)]
    force: bool,
}

/// The formats that can be read.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Text of `valgrind --tool=lackey --trace-mem=yes`, or of `corehop export`
    Lackey,
    /// Records of `DynamoRIO`'s drmemtrace: a folder or a file, compressed or not
    Drmemtrace,
    /// Records of `ChampSim`'s tracers, uncompressed or compressed with xz or gzip
    Champsim,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Lackey => "lackey",
            Format::Drmemtrace => "drmemtrace",
            Format::Champsim => "champsim",
        }
    }
}

/// Returns the address at which requests begin, if it is known.
fn request_at(arguments: &Arguments, program: &Program) -> Result<Option<u64>, Failure> {
    let Some(text) = &arguments.request_at else {
        return Ok(None);
    };
    if let Some(digits) = text.strip_prefix("0x")
        && let Ok(address) = u64::from_str_radix(digits, 16)
    {
        return Ok(Some(address));
    }
    match program.addresses_of(text)[..] {
        [address] => Ok(Some(address)),
        [] => {
            let problem =
                format!("--request-at {text}: no address such as 0x401a30, and no function");
            Err(Failure::new(Exit::Usage, problem).remedy(
                "name an address, or a function of modules.log or funclist.log; without \
                 --request-at the trace is imported without requests",
            ))
        }
        [first, .., last] => {
            let problem = format!("--request-at {text}: functions from {first:#x} to {last:#x}");
            Err(Failure::new(Exit::Usage, problem).remedy("name the address of one of them"))
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = &arguments.output;
    streams::keep([&*arguments.input], output)?;
    trace_file::check(output, arguments.force)?;
    let bar = Bar::new();
    let input = Input::of(arguments)?;
    let program = match input {
        Input::Path(_) => program::beside(&arguments.input).map_err(failure)?,
        Input::Standard | Input::File(..) => Program::default(),
    };
    let options = Options {
        request_at: request_at(arguments, &program)?,
        join: arguments.join,
    };
    // The unfinished trace must be removed, which the signal's default action does not do.
    interrupt::listen()?;
    let writer = begin(arguments)?;
    let imported = import(arguments, input, writer, &options, &program, &bar);
    bar.end();
    let mut imported = imported.inspect_err(|_| trace_file::abandon(output))?;
    if imported.summary.accesses == 0 {
        imported
            .warnings
            .push("no access: the input is empty".into());
    } else if let Some(address) = options.request_at
        && imported.summary.requests == 0
    {
        let unreached = format!("no request: nothing was executed at {address:#x} (--request-at)");
        imported.warnings.push(unreached);
    }
    say(output, &imported);
    Ok(())
}

/// The input.
enum Input {
    Standard,
    /// A file that is read once from beginning to end, and its size in bytes.
    File(File, u64),
    /// A file or a folder whose format determines the order of reading, and its size in bytes.
    Path(u64),
}

impl Input {
    fn of(arguments: &Arguments) -> Result<Input, Failure> {
        let path = &arguments.input;
        if path.as_os_str() == "-" {
            return Ok(Input::Standard);
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| unreadable(&name, &error))?;
        match arguments.format {
            Format::Drmemtrace if metadata.is_dir() => Ok(Input::Path(bytes_in(path))),
            Format::Drmemtrace if metadata.is_file() => Ok(Input::Path(metadata.len())),
            // A pipe can be opened only once.
            Format::Drmemtrace | Format::Lackey | Format::Champsim => {
                Ok(Input::File(file, metadata.len()))
            }
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Input, format!("{name}: cannot read: {error}"))
        .remedy("name a file that exists and can be read, or - for standard input")
}

/// Returns the total size of the folder's files in bytes, as far as it is known.
fn bytes_in(folder: &Path) -> u64 {
    let within = folder.join("trace");
    let folder = if within.is_dir() { &within } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| entry.metadata().ok());
    sizes.filter(|of| of.is_file()).map(|of| of.len()).sum()
}

fn begin(arguments: &Arguments) -> Result<Writer, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let format = arguments.format.name();
    let header = Header {
        created_by: format!("corehop {version} import from {format}"),
        request_at: arguments.request_at.clone().unwrap_or_default(),
        ..Header::default()
    };
    let to_write = WriterOptions {
        compression_level: arguments.level,
        ..WriterOptions::default()
    };
    Ok(trace_file::begin(
        &arguments.output,
        arguments.force,
        &header,
        &to_write,
    )?)
}

fn import(
    arguments: &Arguments,
    input: Input,
    writer: Writer,
    options: &Options,
    program: &Program,
    bar: &Bar,
) -> Result<Imported, Failure> {
    let (input, name) = match input {
        Input::Standard => {
            bar.begin("importing", None);
            // Not `Stdin`, whose buffer `poll` does not see.
            let input = io::stdin().as_fd().try_clone_to_owned();
            let input = input.map_err(|error| unreadable("standard input", &error))?;
            (input.into(), "standard input".to_owned())
        }
        Input::File(file, bytes) => {
            bar.begin("bytes imported", Some(bytes));
            (file, arguments.input.display().to_string())
        }
        Input::Path(bytes) => {
            bar.begin("bytes imported", Some(bytes));
            let watch = |read| advance(bar, read);
            let imported =
                drmemtrace::import_path(&arguments.input, writer, options, program, &watch);
            return imported.map_err(failure);
        }
    };
    let input = Watched { input, bar };
    let imported = match arguments.format {
        Format::Lackey => lackey::import(input, &name, writer, options),
        Format::Drmemtrace => drmemtrace::import(input, &name, writer, options),
        Format::Champsim => champsim::import(input, &name, writer, options),
    };
    imported.map_err(failure)
}

fn failure(error: Error) -> Failure {
    match error {
        _ if interrupt::is_asked() => interrupt::failure("nothing was written"),
        Error::Trace(error) => error.into(),
        Error::Broken { .. } => Failure::new(Exit::Input, error)
            .remedy("nothing was written; docs/reference/exchange.md describes the formats"),
        Error::Damaged { .. } => Failure::new(Exit::Input, error)
            .remedy("nothing was written; copy the file again from its source"),
        Error::NoTrace { ref remedy, .. } => {
            let remedy = remedy.clone();
            Failure::new(Exit::Input, error).remedy(remedy)
        }
        Error::Read { .. } => {
            Failure::new(Exit::Input, error).remedy("nothing was written; try again")
        }
    }
}

fn say(output: &Path, imported: &Imported) {
    let summary = &imported.summary;
    console::say(&format!(
        "{}: {}, {} accesses, {}",
        output.display(),
        counted(summary.requests, "request", "requests"),
        summary.accesses,
        indicatif::HumanBytes(summary.size_bytes),
    ));
    if let Some(instructions) = imported.instructions {
        console::say(&format!("  instructions: {instructions}"));
    }
    for (what, count) in &imported.left_out {
        console::say(&format!("  left out: {count} {what}"));
    }
    for warning in &imported.warnings {
        console::warn(&format!("warning: {}: {warning}", output.display()));
    }
}

/// An input that advances the progress bar, and returns an error after an interrupt.
struct Watched<'b> {
    input: File,
    bar: &'b Bar,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // A pipe's writer may stay silent.
        while !is_readable(&self.input)? {
            advance(self.bar, 0)?;
        }
        let read = self.input.read(into)?;
        advance(self.bar, read as u64)?;
        Ok(read)
    }
}

/// Waits a moment until something can be read, or the end; returns false if not.
fn is_readable(input: &File) -> io::Result<bool> {
    const MOMENT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&MOMENT)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Advances the progress bar; fails after an interrupt.
fn advance(bar: &Bar, read: u64) -> io::Result<()> {
    if interrupt::is_asked() {
        return Err(io::Error::other("interrupted"));
    }
    bar.advance(read);
    Ok(())
}
