//! What is told of a trace's functions, as tables and as JSON.

use corehop_lab::characterize::Characterisation;
use corehop_lab::characterize::profile::Profile;
use corehop_simulator::Machine;
use corehop_support::format::name::shortened;

/// What is told.
pub struct Summary<'a> {
    /// What people call the trace.
    pub trace_name: &'a str,
    /// The machine that was simulated.
    pub machine: &'a Machine,
    /// All that is known.
    pub profile: &'a Profile<'a>,
    /// What samples say, where they were asked for.
    pub sampled: Option<&'a Draws>,
    /// Of how many functions.
    pub top: usize,
    /// Whether every function's gain was asked for.
    pub correlate: bool,
}

/// Samples of the trace.
pub struct Draws {
    /// One access in so many.
    pub every: u64,
    /// What each draw says.
    pub draws: Vec<Characterisation>,
}

impl Summary<'_> {
    /// The name of the function at this place, as tables have it.
    pub fn name(&self, place: usize) -> String {
        let subject = &self.profile.subject;
        let function = subject.functions[place];
        shortened(&subject.trace.functions()[function.index()].name)
    }
}
