//! `corehop profile --format`: the profile as a file that another profiler shows.

use crate::failure::{Exit, Failure};
use clap::{Args, ValueEnum};
use corehop_partitioner::attribution::options;
use corehop_profile::{Export, Format};
use corehop_simulator::Machine;
use corehop_support::atomic_file::{self, Output, PUBLIC};
use corehop_support::format::number::counted;
use corehop_traces::Trace;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// The options of such a file.
#[derive(Args)]
pub struct FormatArguments {
    /// Write all source lines as a file that another profiler shows, instead of tables
    ///
    /// The figure of --sort and --level comes first. Stacks have the functions that are inlined at
    /// a line, and no callers.
    #[arg(
        long,
        value_enum,
        conflicts_with_all = ["by", "limit", "request_scaled", "json"],
        help_heading = "Output"
    )]
    format: Option<WrittenFormat>,
    /// File for --format; `-` for standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "-",
        requires = "format",
        help_heading = "Output"
    )]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long, requires = "format", help_heading = "Output")]
    force: bool,
}

/// The formats that can be written.
#[derive(Clone, Copy, ValueEnum)]
enum WrittenFormat {
    /// Valgrind's callgrind, for `KCachegrind` and `callgrind_annotate`
    Callgrind,
    /// pprof's `profile.proto`, packed by gzip, for `go tool pprof` and Grafana
    Pprof,
    /// JSON for <https://www.speedscope.app>
    Speedscope,
    /// JSON for <https://profiler.firefox.com>
    Firefox,
}

/// A file that can be written.
pub struct FormattedOutput {
    format: Format,
    output: Output,
}

impl FormatArguments {
    /// Returns the path of the output.
    pub fn path(&self) -> &Path {
        &self.output
    }

    /// Opens the output before any work; `None` without `--format`.
    pub fn output(&self) -> Result<Option<FormattedOutput>, Failure> {
        let Some(format) = self.format else {
            return Ok(None);
        };
        let format = match format {
            WrittenFormat::Callgrind => Format::Callgrind,
            WrittenFormat::Pprof => Format::Pprof,
            WrittenFormat::Speedscope => Format::Speedscope,
            WrittenFormat::Firefox => Format::Firefox,
        };
        let output = Output::at(&self.output, self.force)?;
        if format.is_binary() && output.is_standard_output() && io::stdout().is_terminal() {
            let message = "--format pprof: standard output is a terminal, and the file is binary";
            return Err(Failure::new(Exit::Usage, message)
                .remedy("name a file with -o, or redirect standard output"));
        }
        Ok(Some(FormattedOutput { format, output }))
    }
}

impl FormattedOutput {
    /// Writes the file.
    pub fn write(&self, export: &Export<'_>) -> Result<(), Failure> {
        let mut contents = Vec::new();
        let written = self.format.write(export, &mut contents);
        written.map_err(|error| unwritable(self.output.path(), &error))?;
        Ok(self.output.write(&contents, PUBLIC)?)
    }
}

/// Returns a title: the trace, the options, and the machine.
pub fn title((name, trace): (&str, &Trace), (machine, cores): (&Machine, usize)) -> String {
    let cores = counted(cores as u64, "core", "cores");
    format!(
        "{name}{}, machine {}, {cores}",
        options(trace),
        machine.name
    )
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Exit::Output,
        format!("{}: cannot write: {error}", path.display()),
    )
    .remedy(atomic_file::remedy(path, error))
}
