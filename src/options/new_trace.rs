//! Writes a trace from another one: a part of it, or a copy with additions.

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use crate::terminal::interrupt;
use crate::terminal::progress::Bar;
use corehop_partitioner::progress;
use corehop_recorder::trace_file;
use corehop_support::format::number::counted;
use corehop_traces::{Error, Summary, Watched};
use std::path::Path;

/// The message if a signal ends the command.
pub const UNDONE: &str = "nothing was written";

/// Checks whether a trace can be written there.
pub fn check(output: &Path, force: bool) -> Result<(), Failure> {
    if output.as_os_str() == "-" {
        let message = "a trace cannot be written to standard output";
        return Err(Failure::new(Exit::Usage, message).remedy("name a file with -o"));
    }
    Ok(trace_file::check(output, force)?)
}

/// Writes the trace with `copy`, and prints what was written. `stage` is the label of the progress
/// bar and the number of executions to read.
pub fn write(
    output: &Path,
    force: bool,
    stage: (&'static str, u64),
    copy: impl FnOnce(Watched<'_>) -> Result<Option<Summary>, Error>,
) -> Result<(), Failure> {
    // The unfinished trace must be removed, which the signal's default action does not do.
    interrupt::listen()?;
    if force {
        trace_file::abandon(output);
    }
    let copied = copied(stage, copy);
    let summary = copied.inspect_err(|_| trace_file::abandon(output))?;
    console::say(&format!(
        "{}: {}, {} accesses, {}",
        output.display(),
        counted(summary.requests, "request", "requests"),
        summary.accesses,
        indicatif::HumanBytes(summary.size_bytes),
    ));
    Ok(())
}

fn copied(
    stage: (&'static str, u64),
    copy: impl FnOnce(Watched<'_>) -> Result<Option<Summary>, Error>,
) -> Result<Summary, Failure> {
    let copied = progress::stage(&Bar::new(), stage, |tell| {
        copy((tell, &|| !interrupt::is_asked()))
    });
    copied?.ok_or_else(|| interrupt::failure(UNDONE))
}
