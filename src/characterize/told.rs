//! What is told of a trace's functions, as tables and as JSON.

use corehop_characterisation::profile::Profile;
use corehop_simulator::Machine;

/// What is told.
pub struct Told<'a> {
    /// What people call the trace.
    pub trace_name: &'a str,
    /// The machine that was simulated.
    pub machine: &'a Machine,
    /// All that is known.
    pub profile: &'a Profile<'a>,
    /// Of how many functions.
    pub top: usize,
    /// Whether every function's gain was asked for.
    pub correlate: bool,
}
