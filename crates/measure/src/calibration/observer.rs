//! How a calibration tells whoever watches how far it is, and is told to end.

use crate::calibration::error::Error;

/// Told of a calibration's progress, from any thread.
pub trait Observer: Sync {
    /// A stage begins, of so many steps.
    fn begin(&self, stage: &str, total: u64);
    /// One more step is done.
    fn advance(&self);
    /// The stage is over.
    fn end(&self);
    /// Whether the calibration shall end with [`Error::Interrupted`]; asked several times a second.
    fn is_interrupted(&self) -> bool;
}

/// Counts a step, and ends the calibration where that was asked for.
pub(crate) fn step(observer: &dyn Observer) -> Result<(), Error> {
    observer.advance();
    match observer.is_interrupted() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}
