//! Opening a trace to compute on it, with a word of warning where it is not all there.

use crate::failure::Failure;
use crate::voice;
use corehop_traces::{Ending, Trace};
use std::path::Path;

/// Opens the trace at `path`. One whose recording was cut off is used as far as it goes, and
/// standard error says so: its figures are true of what is left.
pub fn open(path: &Path) -> Result<Trace, Failure> {
    let trace = Trace::open(path)?;
    if let Ending::Cut { offset, .. } = trace.ending() {
        let path = path.display();
        voice::warn(&format!(
            "warning: {path}: the recording was cut off; what follows is of the {} requests \
             before byte {offset}; `corehop check {path}` says what is missing",
            trace.requests().len()
        ));
    }
    Ok(trace)
}
