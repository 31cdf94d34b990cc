//! What is to be said of every figure, where a trace is not taken as it was recorded.

use corehop_simulator::kernel_model::soares;
use corehop_traces::{Index, Trace};
use serde_json::Value;

/// The same, in sentences for people; none of a trace that is taken as it was recorded.
#[must_use]
pub fn remarks(trace: &Trace) -> Vec<String> {
    let index = match trace.index() {
        Index::Virtual => None,
        Index::Physical => Some("lines are identified by physical addresses".into()),
    };
    let model = kernel_model(trace).map(|model| {
        format!("the kernel is synthetic, modelled after {model}: what it did was not recorded")
    });
    index.into_iter().chain(model).collect()
}

/// The same, in keys of the object that tells programs the figures.
pub fn mark(object: &mut Value, trace: &Trace) {
    if trace.index() == Index::Physical {
        object["index"] = "physical".into();
    }
    if let Some(model) = kernel_model(trace) {
        object["kernel_model"] = model.into();
    }
}

/// The options of the command line by which a trace was taken so, each behind a space.
#[must_use]
pub fn options(trace: &Trace) -> String {
    let index = match trace.index() {
        Index::Virtual => "",
        Index::Physical => " --index physical",
    };
    let model = kernel_model(trace).map(|model| format!(" --kernel-model {model}"));
    [index, model.as_deref().unwrap_or_default()].concat()
}

/// The model after which the kernel in a trace was made up.
fn kernel_model(trace: &Trace) -> Option<&'static str> {
    soares::is_in(trace).then_some(soares::NAME)
}
