//! A recording with a driver of the server: the driver waits until the server is ready, fills it,
//! and generates the load.
//!
//! The recorder must always drain the shared memory, or the server's threads wait for it. So the
//! driver runs on its own thread. The end of the recording ends the driver, and a failure of the
//! driver ends the recording. Rejected: a recorder in a separate process, controlled through its
//! socket, because its errors would have to be parsed from messages.

use super::family::Family;
use super::{Over, Session};
use crate::transcript::Transcript;
use corehop_traces::Error;
use corehop_wire::ring::Memory;
use std::sync::atomic::{AtomicBool, Ordering};

/// Drives the server until the recording is over.
pub type Driver<'a, E> = &'a (dyn Fn(&Recorded<'_>) -> Result<(), E> + Sync);

/// The driver's view of the recording.
pub struct Recorded<'a> {
    memory: &'a Memory,
    family: Family,
    is_over: AtomicBool,
    is_given_up: AtomicBool,
}

impl<'a> Recorded<'a> {
    /// Returns the view of a running recording of this family.
    pub(crate) fn new(memory: &'a Memory, family: Family) -> Recorded<'a> {
        Recorded {
            memory,
            family,
            is_over: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Returns the process ids of the server.
    pub fn processes(&self) -> Vec<u32> {
        self.family.members()
    }

    /// Whether recording has ended.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether the driver has failed.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Starts recording with the next request, if the recording began paused.
    pub fn start(&self) {
        self.memory.set_paused(false);
    }

    /// Returns the number of requests that the server has begun.
    pub fn requests(&self) -> u64 {
        self.memory.requests().seen
    }
}

/// Marks the driver as failed when dropped before a regular end, also after a panic.
struct GivesUp<'a>(&'a AtomicBool);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Records until it is over, with or without a driver; the second result is the driver's.
pub fn run<E: Send>(
    recorded: &Recorded<'_>,
    driver: Option<Driver<'_, E>>,
    mut session: Session<'_>,
    transcript: &mut Transcript,
) -> (Result<Over, Error>, Result<(), E>) {
    let Some(driver) = driver else {
        return (session.run(transcript), Ok(()));
    };
    let drive = || {
        let gives_up = GivesUp(&recorded.is_given_up);
        let driven = driver(recorded);
        if driven.is_ok() {
            std::mem::forget(gives_up);
        }
        driven
    };
    std::thread::scope(|scope| {
        let driving = scope.spawn(drive);
        let over = session.run(transcript);
        recorded.is_over.store(true, Ordering::Relaxed);
        let driven = driving.join();
        (
            over,
            driven.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    })
}
