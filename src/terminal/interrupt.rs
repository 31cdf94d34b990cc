//! Ctrl-C and SIGTERM for commands that must clean up: they check for signals regularly.
//!
//! The signals' default action would end the process at once and leave files and servers behind.
//! Signals are counted: a second one speeds up the end that the first one began. Code that only
//! computes has nothing to clean up, and checks everywhere in it would be useless. There, a signal
//! ends the process ([`at_once`]). A search ends with the best result that it has found
//! ([`listen_for_search`]).

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// The message with which a signal ends the process.
static AT_ONCE: Mutex<Option<Failure>> = Mutex::new(None);

/// Whether a search handles signals, and whether it has a result to end with.
static IS_SEARCH: AtomicBool = AtomicBool::new(false);
static HAS_FOUND: AtomicBool = AtomicBool::new(false);

/// From here on, signals are only counted.
pub fn listen() -> Result<(), Failure> {
    let noticed = || {
        let is_first = SIGNALS.fetch_add(1, Ordering::Relaxed) == 0;
        if let Some(failure) = &*said_at_once()
            && !(is_first && HAS_FOUND.load(Ordering::Relaxed))
        {
            console::tell(&failure.lines());
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(noticed).map_err(|error| Failure::no_signals(&error))
}

/// From here on, the first signal ends a search with its best result. Before the first result, or
/// at a second signal, the process ends and reports that there is no result.
pub fn listen_for_search(checkpoint: Option<&Path>) -> Result<(), Failure> {
    let left = checkpoint.map_or("nothing was written".into(), |file| {
        let file = file.display();
        format!("no result was written: the same command resumes from {file}")
    });
    IS_SEARCH.store(true, Ordering::Relaxed);
    *said_at_once() = Some(failure(&left));
    listen()
}

/// From here on, the result is written, and signals wait for that.
pub fn finish_search() {
    *said_at_once() = None;
}

/// Returns whether a search must end. The caller has a result to end with.
pub fn ends_search() -> bool {
    let is_search = IS_SEARCH.load(Ordering::Relaxed);
    HAS_FOUND.fetch_or(is_search, Ordering::Relaxed);
    is_search && is_asked()
}

fn said_at_once() -> MutexGuard<'static, Option<Failure>> {
    AT_ONCE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs work that needs no cleanup. A signal ends the process, with a message that `left` remains
/// of its work.
pub fn at_once<T>(left: &str, work: impl FnOnce() -> T) -> Result<T, Failure> {
    *said_at_once() = Some(failure(left));
    // A signal just before this point would otherwise wait until the work is done.
    let result = heed(left).map(|()| work());
    *said_at_once() = None;
    result
}

/// Returns the number of received signals.
pub fn count() -> usize {
    SIGNALS.load(Ordering::Relaxed)
}

/// Returns whether a signal was received.
pub fn is_asked() -> bool {
    count() > 0
}

/// Fails after a signal; `undone` describes the cleanup.
pub fn heed(undone: &str) -> Result<(), Failure> {
    match is_asked() {
        false => Ok(()),
        true => Err(failure(undone)),
    }
}

/// Returns the failure of [`heed`].
pub fn failure(undone: &str) -> Failure {
    Failure::new(Exit::Interrupted, format!("interrupted; {undone}")).explained()
}
