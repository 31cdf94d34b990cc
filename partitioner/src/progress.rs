//! How a search tells whoever watches how far it is, and is told to stop.

use corehop_simulator::ReplayOptions;
use corehop_traces::{Tell, Trace};

/// Told of a search's progress, from any thread.
pub trait Progress: Sync {
    /// A stage begins, of `total` steps if that is known.
    fn begin(&self, stage: &str, total: Option<u64>);
    /// `steps` more steps are done.
    fn advance(&self, steps: u64);
    /// The stage is over.
    fn end(&self);
    /// Whether the search shall end with the best it has; asked several times a second.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Does the work of a stage, of so many steps; `work` is given what to tell of them.
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

/// The same for a pass over what these options choose of a trace, with options that tell of it.
pub fn replaying<T>(
    (name, progress): (&str, &dyn Progress),
    (trace, options): (&Trace, &ReplayOptions<'_>),
    work: impl FnOnce(&ReplayOptions<'_>) -> T,
) -> T {
    stage(progress, (name, options.executions(trace)), |tell| {
        work(&options.telling(tell))
    })
}

/// Nobody watches.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
