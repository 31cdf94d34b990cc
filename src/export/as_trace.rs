//! A part of a trace as a trace of its own: some requests, or the server without its kernel.

use super::{Arguments, EXECUTIONS_PER_REPORT, UNDONE, chosen};
use crate::console;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::open::open;
use crate::progress::Bar;
use corehop_partitioner::progress::Progress;
use corehop_recorder::trace_file;
use corehop_traces::{Chosen, Summary, Trace, WriterOptions, copy_chosen};

/// Writes it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = &arguments.output;
    if output.as_os_str() == "-" {
        let message = "a trace cannot be written to standard output";
        return Err(Failure::new(Exit::Usage, message).remedy("name a file with -o"));
    }
    trace_file::check(output, arguments.force)?;
    let trace = open(&arguments.trace)?;
    let requests = chosen(arguments, &trace)?;
    let chosen = Chosen {
        requests: requests.as_deref(),
        without_kernel: arguments.without_kernel,
    };
    // The unfinished trace is to vanish, which the signal's default action would not see to.
    interrupt::listen()?;
    if arguments.force {
        trace_file::abandon(output);
    }
    let copied = copied(arguments, &trace, &chosen);
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

fn copied(arguments: &Arguments, trace: &Trace, chosen: &Chosen<'_>) -> Result<Summary, Failure> {
    let bar = Bar::new();
    let total = chosen.requests.is_none().then(|| trace.execution_count());
    bar.begin("exporting", total);
    let mut passed: u64 = 0;
    let mut goes_on = || {
        passed += 1;
        if passed.is_multiple_of(EXECUTIONS_PER_REPORT) {
            bar.advance(EXECUTIONS_PER_REPORT);
        }
        !interrupt::is_asked()
    };
    let options = WriterOptions::default();
    let copied = copy_chosen(trace, chosen, &arguments.output, &options, &mut goes_on)?;
    bar.end();
    copied.ok_or_else(|| interrupt::failure(UNDONE))
}
