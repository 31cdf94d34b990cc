//! How a measurement tells whoever watches how far it is, and is told to end.

use crate::rounds::{Outlook, Standing};

/// Told of a measurement's progress.
pub trait Observer {
    /// A stage begins, of `total` steps if that is known.
    fn begin(&self, stage: &str, total: Option<u64>);
    /// `steps` more steps are done.
    fn advance(&self, steps: u64);
    /// The stage is over.
    fn end(&self);
    /// The round of this number, from 1 on, gave these throughputs: the original's, then those of
    /// the contestants that were measured.
    fn round(&self, number: usize, throughputs: &[f64]);
    /// How things are after a round.
    fn stands(&self, standing: &Standing);
    /// How long a proof takes; at most once.
    fn estimated(&self, outlook: &Outlook);
    /// A line that a patched server printed on its standard error.
    fn said(&self, line: &str);
    /// Whether the measurement shall end every server and fail with
    /// [`Interrupted`](crate::Error::Interrupted); asked many times a second.
    fn is_interrupted(&self) -> bool;
}
