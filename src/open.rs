//! Opens a trace for computation, and warns if it is incomplete.

use crate::failure::Failure;
use crate::terminal::console;
use corehop_support::format::number::counted;
use corehop_traces::{Ending, Trace};
use std::path::Path;

/// Opens the trace at `path`. A trace whose recording was cut off is used up to that point, with a
/// warning: its figures are valid for the remaining part. A second warning applies to a trace of
/// several processes without address spaces, whose figures may be wrong.
pub fn open(path: &Path) -> Result<Trace, Failure> {
    let trace = Trace::open(path)?;
    if let Ending::Cut { offset, .. } = trace.ending() {
        let path = path.display();
        console::warn(&format!(
            "warning: {path}: the recording was cut off; the result covers the {} before byte \
             {offset}; `corehop check {path}` shows what is missing",
            counted(trace.requests().len() as u64, "request", "requests")
        ));
    }
    if trace.lacks_address_spaces() {
        let (path, processes) = (path.display(), trace.process_count());
        let remedy = match trace.header().qemu_version.is_empty() {
            true => "import a trace with address spaces, such as one of `corehop export`",
            false => "record it again",
        };
        console::warn(&format!(
            "warning: {path}: the trace is of {processes} processes and does not record which \
             memory they share; equal addresses count as the same memory, so misses and coherence \
             between processes may be wrong; {remedy}"
        ));
    }
    Ok(trace)
}
