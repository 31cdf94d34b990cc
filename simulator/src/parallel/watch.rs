//! Who watches while the lines of a set partition are simulated.
//!
//! Whoever wants totals only watches nothing, which costs nothing.

use crate::report::observer::Observer;

/// Watches one set partition, of which there are several, each with a watch of its own.
///
/// It is told of every miss and what follows from it. References that hit an L1 in any case are not
/// simulated, so it may not be told of them.
pub trait Watch: Observer + Default + Send {
    /// The next lines, in the order of their ids, have these numbers (addresses divided by 64).
    fn register(&mut self, numbers: impl Iterator<Item = u64>);

    /// What came up to here does not count.
    fn start_counting(&mut self);
}

impl Watch for () {
    fn register(&mut self, _: impl Iterator<Item = u64>) {}

    fn start_counting(&mut self) {}
}
