//! Ctrl-C and SIGTERM for commands that undo what they have begun: they look for it now and then.
//!
//! The signals' default action would end the process at once and leave files and servers behind. A
//! search, which keeps what it has found, has its own answer (`progress`), and so has a recording.

use crate::failure::{Exit, Failure};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From here on, the signals only leave word.
pub fn listen() -> Result<(), Failure> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::no_signals(&error))
}

/// Whether one has come.
pub fn is_asked() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Fails once one has come; `undone` says what was done about what had been begun.
pub fn heed(undone: &str) -> Result<(), Failure> {
    match is_asked() {
        false => Ok(()),
        true => Err(failure(undone)),
    }
}

/// The failure that [`heed`] gives.
pub fn failure(undone: &str) -> Failure {
    Failure::new(Exit::Interrupted, format!("interrupted; {undone}")).explained()
}
