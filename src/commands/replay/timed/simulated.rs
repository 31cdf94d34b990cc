//! The result of a timed replay: every setting with its outcome.

use super::core_model::ModelName;
use corehop_simulator::Machine;
use corehop_simulator::timing::{Outcome, Setting};
use corehop_traces::Trace;
use std::path::Path;

/// The outcomes for one trace and machine.
pub struct Report<'a> {
    pub trace_name: &'a Path,
    pub trace: &'a Trace,
    pub machine: &'a Machine,
    pub model: ModelName,
    /// Whether the trace contains the sources of addresses.
    pub has_dependences: bool,
    /// At least one.
    pub simulated: Vec<(Setting<'a>, Outcome)>,
}
