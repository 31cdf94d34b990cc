//! Opening a trace to compute on it, with a word of warning where it is not all there.

use crate::console;
use crate::failure::Failure;
use corehop_traces::{Ending, Trace};
use std::path::Path;

/// Opens the trace at `path`. One whose recording was cut off is used as far as it goes, and
/// standard error says so: its figures are true of what is left. So it does of several processes in
/// a trace that does not tell their memories apart, whose figures may be wrong.
pub fn open(path: &Path) -> Result<Trace, Failure> {
    let trace = Trace::open(path)?;
    if let Ending::Cut { offset, .. } = trace.ending() {
        let path = path.display();
        console::warn(&format!(
            "warning: {path}: the recording was cut off; the result covers the {} requests \
             before byte {offset}; `corehop check {path}` shows what is missing",
            trace.requests().len()
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
