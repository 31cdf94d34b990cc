//! How a calibration reports its progress and is interrupted.

use crate::calibration::error::Error;

/// Receives a calibration's progress, from any thread.
pub trait Observer: Sync {
    /// A stage begins, with `total` steps.
    fn begin(&self, stage: &str, total: u64);
    /// One more step is done.
    fn advance(&self);
    /// The stage is over.
    fn end(&self);
    /// Whether the calibration should end with [`Error::Interrupted`]; called several times a
    /// second.
    fn is_interrupted(&self) -> bool;
}

/// Counts a step, and ends the calibration if that was requested.
pub(crate) fn step(observer: &dyn Observer) -> Result<(), Error> {
    observer.advance();
    match observer.is_interrupted() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}
