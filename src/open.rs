//! Opening a trace to compute on it, with a word of warning where it is not all there.

use crate::console;
use crate::failure::{Exit, Failure};
use clap::ValueEnum;
use corehop_traces::{Ending, Index, Trace};
use std::path::Path;

/// By which addresses lines are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Indexed {
    /// Virtual ones: each process has all lines for itself but those that it is known to share
    #[default]
    Virtual,
    /// Physical ones, of a trace of a machine (`record --system`): memory of several processes, and
    /// what the kernel maps a second time, is one set of lines
    Physical,
}

/// The same as [`open`], of a trace that tells these addresses.
pub fn open_by(path: &Path, indexed: Indexed) -> Result<Trace, Failure> {
    let mut trace = open(path)?;
    if indexed == Indexed::Physical {
        if trace.pages().is_empty() {
            let path = path.display();
            let message = format!("{path}: the trace tells no physical addresses");
            let remedy = "leave --index out, or record the server with --system";
            return Err(Failure::new(Exit::Input, message).remedy(remedy));
        }
        trace.index_by(Index::Physical);
    }
    Ok(trace)
}

/// Opens the trace at `path`. One whose recording was cut off is used as far as it goes, and
/// standard error says so: its figures are true of what is left. So it does of several processes in
/// a trace that does not tell their memories apart, whose figures may be wrong.
pub fn open(path: &Path) -> Result<Trace, Failure> {
    let trace = Trace::open(path)?;
    if let Ending::Cut { offset, .. } = trace.ending() {
        let path = path.display();
        console::warn(&format!(
            "warning: {path}: the recording was cut off; what follows is of the {} requests \
             before byte {offset}; `corehop check {path}` says what is missing",
            trace.requests().len()
        ));
    }
    if trace.lacks_address_spaces() {
        let (path, processes) = (path.display(), trace.process_count());
        let remedy = match trace.header().qemu_version.is_empty() {
            true => "an import cannot tell, unless its addresses do, as those of `corehop export`",
            false => "record it again",
        };
        console::warn(&format!(
            "warning: {path}: of {processes} processes, and without a word of which memory they \
             share; equal addresses count as the same memory, so misses and coherence between \
             processes may be wrong; {remedy}"
        ));
    }
    Ok(trace)
}
