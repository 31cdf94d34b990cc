//! How a measurement tells whoever watches how far it is, and is told to end.

use crate::rounds::Comparison;

/// Told of a measurement's progress.
pub trait Observer {
    /// A stage begins, of `total` steps if that is known.
    fn begin(&self, stage: &str, total: Option<u64>);
    /// `steps` more steps are done.
    fn advance(&self, steps: u64);
    /// The stage is over.
    fn end(&self);
    /// The round of this number, from 1 on, gave these throughputs of original and patched.
    fn round(&self, number: usize, throughput: [f64; 2]);
    /// The round of a race of this number gave these throughputs: the original's, then those of the
    /// contestants that were in the race.
    fn raced(&self, number: usize, throughputs: &[f64]);
    /// What so many rounds say together.
    fn compared(&self, rounds: usize, comparison: &Comparison);
    /// A line that a patched server printed on its standard error.
    fn said(&self, line: &str);
    /// Whether the measurement shall end every server and fail with
    /// [`Interrupted`](crate::Error::Interrupted); asked many times a second.
    fn is_interrupted(&self) -> bool;
}
