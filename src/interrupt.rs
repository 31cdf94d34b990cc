//! Ctrl-C and SIGTERM for commands that undo what they have begun: they look for it now and then.
//!
//! The signals' default action would end the process at once and leave files and servers behind.
//! Signals are counted: a second one hurries what the first has begun to end. Where nothing has
//! been begun, only figures are computed, there is nothing to undo, and to look for signals all
//! over them would be in vain: there a signal ends the process ([`at_once`]). A search that has
//! found something ends with it ([`listen_for_search`]).

use crate::console;
use crate::failure::{Exit, Failure};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// What a signal is to end the process with.
static AT_ONCE: Mutex<Option<Failure>> = Mutex::new(None);

/// Whether a search listens, and whether it has something that it can end with.
static IS_SEARCH: AtomicBool = AtomicBool::new(false);
static HAS_FOUND: AtomicBool = AtomicBool::new(false);

/// From here on, the signals only leave word.
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

/// From here on, the first signal ends a search with the best that it has. Before it has any, or
/// where a second one comes, the process ends, and says that there is no result.
pub fn listen_for_search(checkpoint: Option<&Path>) -> Result<(), Failure> {
    let left = checkpoint.map_or("nothing was written".into(), |file| {
        let file = file.display();
        format!("no result was written: the same command resumes from {file}")
    });
    IS_SEARCH.store(true, Ordering::Relaxed);
    *said_at_once() = Some(failure(&left));
    listen()
}

/// From here on, what was found is written, and signals wait for that.
pub fn finish_search() {
    *said_at_once() = None;
}

/// Whether a search that listens is to end. What asks has something to end with.
pub fn ends_search() -> bool {
    let is_search = IS_SEARCH.load(Ordering::Relaxed);
    HAS_FOUND.fetch_or(is_search, Ordering::Relaxed);
    is_search && is_asked()
}

fn said_at_once() -> MutexGuard<'static, Option<Failure>> {
    AT_ONCE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does what begins nothing that would have to be undone: a signal ends the process meanwhile, and
/// `left` says what there is of its work.
pub fn at_once<T>(left: &str, work: impl FnOnce() -> T) -> Result<T, Failure> {
    *said_at_once() = Some(failure(left));
    // One that came just before would otherwise wait until the work is done.
    let result = heed(left).map(|()| work());
    *said_at_once() = None;
    result
}

/// How many have come.
pub fn count() -> usize {
    SIGNALS.load(Ordering::Relaxed)
}

/// Whether one has come.
pub fn is_asked() -> bool {
    count() > 0
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
