//! A part of a trace as a trace of its own: some requests, or the server without its kernel.

use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::Bar;
use corehop_partitioner::progress::Progress;
use corehop_recorder::trace_file;
use corehop_traces::{Chosen, Summary, Trace, WriterOptions, copy_chosen};
use std::path::Path;

pub const UNDONE: &str = "nothing was written";

/// How often progress is told and an interrupt heeded: some tens of times a second.
pub const EXECUTIONS_PER_REPORT: u64 = 1 << 16;

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
    let bar = Bar::new();
    let total = chosen.requests.is_none().then(|| trace.execution_count());
    bar.begin("code blocks exported", total);
    let mut passed: u64 = 0;
    let mut goes_on = || {
        passed += 1;
        if passed.is_multiple_of(EXECUTIONS_PER_REPORT) {
            bar.advance(EXECUTIONS_PER_REPORT);
        }
        !interrupt::is_asked()
    };
    let options = WriterOptions::default();
    let copied = copy_chosen(trace, chosen, output, &options, &mut goes_on)?;
    bar.end();
    copied.ok_or_else(|| interrupt::failure(UNDONE))
}
