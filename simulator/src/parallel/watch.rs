//! Observers of the simulation of a set partition.
//!
//! A replay that only computes totals uses `()`, which costs nothing.

use crate::report::observer::Observer;

/// Observes one set partition; each set partition has its own watch.
///
/// It is called for every miss and its consequences. References that are guaranteed to hit an L1
/// are not simulated and may not be reported.
pub trait Watch: Observer + Default + Send {
    /// Registers the next lines, in order of their ids, by line number (address divided by 64).
    fn register(&mut self, numbers: impl Iterator<Item = u64>);

    /// Discards everything observed so far.
    fn start_counting(&mut self);
}

impl Watch for () {
    fn register(&mut self, _: impl Iterator<Item = u64>) {}

    fn start_counting(&mut self) {}
}
