//! How a measurement reports its progress and is interrupted.

use crate::rounds::{Outlook, Standing};

/// Receives a measurement's progress.
pub trait Observer {
    /// A stage begins, of `total` steps if that is known.
    fn begin(&self, stage: &str, total: Option<u64>);
    /// `steps` more steps are done.
    fn advance(&self, steps: u64);
    /// The stage is over.
    fn end(&self);
    /// Round `number`, from 1 on, had these throughputs: the original's, then those of the measured
    /// contestants.
    fn round(&self, number: usize, throughputs: &[f64]);
    /// The intermediate result after a round.
    fn stands(&self, standing: &Standing);
    /// How long a proof takes; called at most once.
    fn estimated(&self, outlook: &Outlook);
    /// A line that a patched server printed on its standard error.
    fn said(&self, line: &str);
    /// Whether the measurement should end every server and fail with
    /// [`Interrupted`](crate::Error::Interrupted); called many times a second.
    fn is_interrupted(&self) -> bool;
}
