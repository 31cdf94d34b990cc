//! Remarks on all figures of a trace that is not replayed exactly as recorded.

use corehop_traces::{Index, Trace};
use serde_json::Value;

/// Returns the remarks as sentences; empty if the trace is replayed as recorded.
#[must_use]
pub fn remarks(trace: &Trace) -> Vec<String> {
    let index = match trace.index() {
        Index::Virtual => None,
        Index::Physical => Some("lines are identified by physical addresses".into()),
    };
    let synthetic = modelled(trace)
        .into_iter()
        .map(|module| format!("{module} is synthetic: what it does was not recorded"));
    index.into_iter().chain(synthetic).collect()
}

/// Adds the remarks to a JSON object of figures.
pub fn mark(object: &mut Value, trace: &Trace) {
    if trace.index() == Index::Physical {
        object["index"] = "physical".into();
    }
    let modelled = modelled(trace);
    if !modelled.is_empty() {
        object["modelled"] = modelled.into();
    }
}

/// Returns the command-line options that select this form of the trace, each preceded by a space.
#[must_use]
pub fn options(trace: &Trace) -> &'static str {
    match trace.index() {
        Index::Virtual => "",
        Index::Physical => " --index physical",
    }
}

/// Returns the paths of synthetic modules.
fn modelled(trace: &Trace) -> Vec<&str> {
    let modules = trace.modules().iter();
    modules
        .filter(|module| module.is_modelled())
        .map(|module| &*module.path)
        .collect()
}
