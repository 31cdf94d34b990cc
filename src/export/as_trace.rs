//! A part of a trace as a trace of its own: some requests, or the server without its kernel.

use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::Bar;
use corehop_partitioner::progress;
use corehop_recorder::trace_file;
use corehop_traces::{Chosen, Summary, Trace, WriterOptions, copy_chosen};
use std::path::Path;

pub const UNDONE: &str = "nothing was written";

/// Finds out whether a trace can be written there.
pub fn check(output: &Path, force: bool) -> Result<(), Failure> {
    if output.as_os_str() == "-" {
        let message = "a trace cannot be written to standard output";
        return Err(Failure::new(Exit::Usage, message).remedy("name a file with -o"));
    }
    Ok(trace_file::check(output, force)?)
}

/// Writes it.
pub fn write(
    output: &Path,
    force: bool,
    trace: &Trace,
    chosen: &Chosen<'_>,
) -> Result<(), Failure> {
    // The unfinished trace is to vanish, which the signal's default action would not see to.
    interrupt::listen()?;
    if force {
        trace_file::abandon(output);
    }
    let copied = copied(output, trace, chosen);
    let summary = copied.inspect_err(|_| trace_file::abandon(output))?;
    console::say(&format!(
        "{}: {} requests, {} accesses, {}",
        output.display(),
        summary.requests,
        summary.accesses,
        indicatif::HumanBytes(summary.size_bytes),
    ));
    Ok(())
}

fn copied(output: &Path, trace: &Trace, chosen: &Chosen<'_>) -> Result<Summary, Failure> {
    let stage = (
        "code blocks exported",
        trace.executions_read(chosen.requests),
    );
    let options = WriterOptions::default();
    let copied = progress::stage(&Bar::new(), stage, |tell| {
        let goes_on = || !interrupt::is_asked();
        copy_chosen(trace, chosen, output, &options, (tell, &goes_on))
    });
    copied?.ok_or_else(|| interrupt::failure(UNDONE))
}
