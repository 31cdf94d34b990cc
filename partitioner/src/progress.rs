//! Progress reports of a search, and requests to stop it.

use corehop_simulator::ReplayOptions;
use corehop_traces::{Tell, Trace};

/// Receives progress reports of a search, from any thread.
pub trait Progress: Sync {
    /// Begins a stage of `total` steps, if known.
    fn begin(&self, stage: &str, total: Option<u64>);
    /// Reports `steps` more completed steps.
    fn advance(&self, steps: u64);
    /// Ends the stage.
    fn end(&self);
    /// Whether the search should end with its best result so far; called several times a second.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Runs a stage of `total` steps; `work` gets a function to report steps.
pub fn stage<T>(
    progress: &dyn Progress,
    (name, total): (&str, u64),
    work: impl FnOnce(Tell<'_>) -> T,
) -> T {
    progress.begin(name, Some(total));
    let result = work(&|steps| progress.advance(steps));
    progress.end();
    result
}

/// Runs a stage that reads the part of a trace selected by these options; `work` gets options that
/// report progress.
pub fn replaying<T>(
    (name, progress): (&str, &dyn Progress),
    (trace, options): (&Trace, &ReplayOptions<'_>),
    work: impl FnOnce(&ReplayOptions<'_>) -> T,
) -> T {
    stage(progress, (name, options.executions(trace)), |tell| {
        work(&options.telling(tell))
    })
}

/// Ignores all reports.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
