//! The printed results for a trace's functions, as tables and as JSON.

use corehop_lab::characterize::Characterisation;
use corehop_lab::characterize::profile::Profile;
use corehop_simulator::Machine;
use corehop_support::format::name::shortened;

/// The input for tables and JSON.
pub struct Summary<'a> {
    /// The displayed name of the trace.
    pub trace_name: &'a str,
    /// The simulated machine.
    pub machine: &'a Machine,
    /// All results.
    pub profile: &'a Profile<'a>,
    /// Estimates from samples, if requested.
    pub sampled: Option<&'a Draws>,
    /// Number of functions to print.
    pub top: usize,
    /// Whether every function's gain was requested.
    pub correlate: bool,
}

/// Samples of the trace.
pub struct Draws {
    /// Number of accesses for each sample.
    pub every: u64,
    /// The result of each sampling.
    pub draws: Vec<Characterisation>,
}

impl Summary<'_> {
    /// Returns the name of the function at this index, as printed in tables.
    pub fn name(&self, place: usize) -> String {
        let subject = &self.profile.subject;
        let function = subject.functions[place];
        shortened(&subject.trace.functions()[function.index()].name)
    }
}
