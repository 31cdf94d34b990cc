//! `corehop export`: writes a trace in a format that other tools read.
//!
//! The text serves to check this simulator against another, so it has one record per access that a
//! replay counts, in replay order. One fetch per instruction, as Valgrind writes, would exceed the
//! counts of the trace, and the figures of other simulators would not be comparable with ours. The
//! formats are in `corehop_traces::convert`.

use crate::failure::{Exit, Failure};
use crate::open::open;
use crate::options::new_trace::{self, UNDONE};
use crate::options::requests::{RequestList, request_list};
use crate::options::streams;
use crate::terminal::interrupt;
use crate::terminal::progress::Bar;
use clap::{Args, ValueEnum};
use corehop_partitioner::progress;
use corehop_support::atomic_file::{Output, PRIVATE};
use corehop_traces::convert::drmemtrace::Branches;
use corehop_traces::convert::{bolt, drmemtrace, lackey};
use corehop_traces::{Chosen, Execution, Module, RequestId, Trace, WriterOptions, copy_chosen};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Export a trace for other tools
///
/// The format `lackey` is text with one record per access, in replay order: `I ADDRESS,SIZE` is a
/// fetch, ` L ADDRESS,SIZE` a load, ` S ADDRESS,SIZE` a store. Addresses are hexadecimal, sizes
/// decimal. Each execution of a code block has one fetch per 64-byte line of code, as in a replay,
/// not one per instruction. A load or store can span lines; a replay counts it once per line.
///
/// The format `drmemtrace` has one record per instruction, load, and store, with threads. The
/// format `corehop` writes a corehop trace, for example of fewer requests.
///
/// The format `bolt` is the pre-aggregated profile of one module for `llvm-bolt -pa`: `B FROM TO
/// COUNT 0` for taken branches, `F FROM TO COUNT` for what runs between two of them. Addresses are
/// hexadecimal, relative to the file; `X:0` is outside of it.
/// docs/reference/exchange.md describes what each format keeps.
#[derive(Args)]
#[command(after_help = "\
Examples:
  corehop export bank.trace --requests 90-99 -o bank.lackey
  corehop export --format drmemtrace bank.trace -o bank.drmemtrace
  corehop export --format bolt --module bank bank.trace -o bank.bolt
  corehop export --format corehop --without-kernel system.trace -o user.trace")]
pub struct Arguments {
    /// Trace to export
    trace: PathBuf,
    /// Format to write
    #[arg(long, value_enum, default_value_t = Format::Lackey)]
    format: Format,
    /// File to write; `-` for standard output
    ///
    /// The format `corehop` requires a file.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Export only these requests, numbered from 0, such as 3,5-9
    ///
    /// Default: everything in the trace.
    #[arg(long, value_name = "LIST", value_parser = request_list)]
    requests: Option<RequestList>,
    /// File of the program or library to write a profile of, by its path or name
    ///
    /// Only with --format bolt. Default: the one that executed the most instructions.
    #[arg(long, value_name = "FILE")]
    module: Option<String>,
    /// Omit the kernel's accesses from a trace recorded with `record --system`
    #[arg(long)]
    without_kernel: bool,
}

/// The formats that can be written.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Text like that of `valgrind --tool=lackey --trace-mem=yes`
    Lackey,
    /// Records like those of `DynamoRIO`'s drmemtrace, in one file
    Drmemtrace,
    /// A corehop trace, which requires a file
    Corehop,
    /// Taken branches of one file, for BOLT
    Bolt,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.module.is_some() && !matches!(arguments.format, Format::Bolt) {
        return Err(Failure::new(Exit::Usage, "--module needs --format bolt")
            .remedy("leave --module out: the other formats have all modules"));
    }
    streams::keep([&*arguments.trace], &arguments.output)?;
    if let Format::Corehop = arguments.format {
        return export_trace(arguments);
    }
    let output = Output::at(&arguments.output, arguments.force)?;
    let trace = open(&arguments.trace)?;
    let requests = chosen(arguments, &trace)?;
    if output.is_file() {
        // The unfinished file must be removed, which the signal's default action does not do. A
        // pipe keeps the default action, which ends a wait for the reader.
        interrupt::listen()?;
    }
    let beside = output.begin(PRIVATE)?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, beside);
    export(arguments, &trace, requests.as_deref(), &mut out)?;
    let written = out.into_inner();
    let beside = written.map_err(|error| unwritable(arguments, &error.into_error()))?;
    Ok(beside.finish()?)
}

const BUFFER_BYTES: usize = 1 << 17;

/// Writes a trace of the selected requests.
fn export_trace(arguments: &Arguments) -> Result<(), Failure> {
    new_trace::check(&arguments.output, arguments.force)?;
    let trace = open(&arguments.trace)?;
    let requests = chosen(arguments, &trace)?;
    let chosen = Chosen {
        requests: requests.as_deref(),
        without_kernel: arguments.without_kernel,
    };
    let (output, options) = (&*arguments.output, WriterOptions::default());
    let stage = (
        "code blocks exported",
        trace.executions_read(chosen.requests),
    );
    new_trace::write(output, arguments.force, stage, |watched| {
        copy_chosen(&trace, &chosen, output, &options, watched)
    })
}

fn unwritable(arguments: &Arguments, error: &io::Error) -> Failure {
    let name = match arguments.output.to_str() {
        Some("-") => "standard output".into(),
        _ => arguments.output.display().to_string(),
    };
    Failure::new(Exit::Output, format!("{name}: cannot write: {error}")).remedy(
        corehop_support::atomic_file::remedy(&arguments.output, error),
    )
}

/// Returns the selected requests, after checking that the trace has them; `None` selects
/// everything.
fn chosen(arguments: &Arguments, trace: &Trace) -> Result<Option<Vec<RequestId>>, Failure> {
    let requests = trace.requests().len();
    let chosen = arguments.requests.as_ref().map(|list| list.of(requests));
    let beyond = |request: &&RequestId| request.index() >= requests;
    match chosen.iter().flatten().find(beyond) {
        None => Ok(chosen),
        Some(request) => {
            let path = arguments.trace.display();
            let message = match requests {
                0 => format!("{path}: the trace has no requests, so none can be chosen"),
                1 => format!("{path}: request {request} does not exist: there is only request 0"),
                _ => format!(
                    "{path}: request {request} does not exist: the trace has {requests} \
                     requests, numbered from 0"
                ),
            };
            Err(Failure::new(Exit::Input, message).remedy("`corehop info` prints their number"))
        }
    }
}

/// Writes all accesses.
fn export(
    arguments: &Arguments,
    trace: &Trace,
    requests: Option<&[RequestId]>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let failed = |error: io::Error| unwritable(arguments, &error);
    match arguments.format {
        Format::Lackey => each(arguments, trace, requests, |execution| {
            let mut accesses = execution.accesses.iter();
            accesses
                .try_for_each(|access| lackey::write(access, out))
                .map_err(failed)
        }),
        Format::Bolt => {
            let mut profile = bolt::Profile::new(trace);
            each(arguments, trace, requests, |execution| {
                profile.execution(execution);
                Ok(())
            })?;
            let module = module(arguments, trace, &profile)?;
            match profile.write(module, out).map_err(failed)? {
                0 => Err(no_branches(arguments, module)),
                _ => Ok(()),
            }
        }
        Format::Drmemtrace | Format::Corehop => {
            let branches = branches(trace)?;
            let exporter = drmemtrace::Exporter::begin(trace, branches, out);
            let mut exporter = exporter.map_err(failed)?;
            each(arguments, trace, requests, |execution| {
                exporter.execution(execution).map_err(failed)
            })?;
            exporter.finish().map_err(failed)
        }
    }
}

/// Returns the module to write a profile of.
fn module<'t>(
    arguments: &Arguments,
    trace: &'t Trace,
    profile: &bolt::Profile<'t>,
) -> Result<&'t Module, Failure> {
    let path = arguments.trace.display();
    let Some(named) = &arguments.module else {
        return profile.busiest().ok_or_else(|| {
            let message = format!("{path}: no code of a file was executed, so there is no profile");
            Failure::new(Exit::Input, message).remedy("record the server again, under load")
        });
    };
    let is_named = |module: &&Module| {
        let name = module.path.rsplit('/').next();
        module.path == *named || name == Some(named.as_str())
    };
    trace.modules().iter().find(is_named).ok_or_else(|| {
        let message = format!("--module {named}: {path} has no such file");
        let all = trace.modules().iter().map(|module| module.path.clone());
        Failure::new(Exit::Usage, message)
            .remedy("name one of these files:")
            .choices(all)
    })
}

fn no_branches(arguments: &Arguments, module: &Module) -> Failure {
    let (path, module) = (arguments.trace.display(), &module.path);
    let message = format!("{path}: no branch of {module} was taken, so there is no profile");
    Failure::new(Exit::Input, message)
        .remedy("name another file with --module, or record the server again, under load")
}

/// Returns the branches of a trace. They are known only after a pass over the whole trace.
fn branches(trace: &Trace) -> Result<Branches, Failure> {
    let stage = ("code blocks looked at", trace.executions_read(None));
    progress::stage(&Bar::new(), stage, |tell| {
        let mut branches = Branches::default();
        let mut executions = trace.executions().telling(tell);
        while let Some(execution) = executions.next()? {
            branches.see(trace, &execution);
            interrupt::heed(UNDONE)?;
        }
        Ok(branches)
    })
}

fn each(
    arguments: &Arguments,
    trace: &Trace,
    requests: Option<&[RequestId]>,
    mut write: impl FnMut(&Execution<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let stage = ("code blocks exported", trace.executions_read(requests));
    progress::stage(&Bar::new(), stage, |tell| {
        let mut executions = trace.executions_chosen(requests).telling(tell);
        while let Some(execution) = executions.next()? {
            let block = &trace.code_blocks()[execution.code_block as usize];
            if !arguments.without_kernel || !block.is_kernels() {
                write(&execution)?;
            }
            interrupt::heed(UNDONE)?;
        }
        interrupt::heed(UNDONE)
    })
}
