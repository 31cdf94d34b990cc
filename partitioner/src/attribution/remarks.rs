//! What is to be said of every figure, where a trace is not taken as it was recorded.

use corehop_traces::{Index, Trace};
use serde_json::Value;

/// The same, in sentences for people; none of a trace that is taken as it was recorded.
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

/// The same, in keys of the object that tells programs the figures.
pub fn mark(object: &mut Value, trace: &Trace) {
    if trace.index() == Index::Physical {
        object["index"] = "physical".into();
    }
    let modelled = modelled(trace);
    if !modelled.is_empty() {
        object["modelled"] = modelled.into();
    }
}

/// The options of the command line by which a trace was taken so, each behind a space.
#[must_use]
pub fn options(trace: &Trace) -> &'static str {
    match trace.index() {
        Index::Virtual => "",
        Index::Physical => " --index physical",
    }
}

/// The modules that were made up.
fn modelled(trace: &Trace) -> Vec<&str> {
    let modules = trace.modules().iter();
    modules
        .filter(|module| module.is_modelled())
        .map(|module| &*module.path)
        .collect()
}
