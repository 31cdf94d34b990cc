//! A recording beside which somebody drives the server: waits until it is ready, fills it, puts it
//! under load.
//!
//! The recorder must drain the shared memory all the while, or the server's threads wait for it. So
//! the driver is a thread of its own, which the recording's end ends, and whose failure ends the
//! recording. Rejected: a recorder that is a process of its own, steered through its socket; what
//! fails there would have to be read back from its messages.

use super::family::Family;
use super::{Over, Session};
use crate::transcript::Transcript;
use corehop_traces::Error;
use corehop_wire::ring::Memory;
use std::sync::atomic::{AtomicBool, Ordering};

/// Drives the server until the recording is over.
pub type Driver<'a, E> = &'a (dyn Fn(&Recorded<'_>) -> Result<(), E> + Sync);

/// What a driver sees of the recording.
pub struct Recorded<'a> {
    memory: &'a Memory,
    family: Family,
    is_over: AtomicBool,
    is_given_up: AtomicBool,
}

impl<'a> Recorded<'a> {
    /// A recording of this family that goes on.
    pub(crate) fn new(memory: &'a Memory, family: Family) -> Recorded<'a> {
        Recorded {
            memory,
            family,
            is_over: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// The numbers of the server's processes.
    pub fn processes(&self) -> Vec<u32> {
        self.family.members()
    }

    /// Whether nothing is recorded any more.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether the driver has failed.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Records from the next request on, of a recording that began paused.
    pub fn start(&self) {
        self.memory.set_paused(false);
    }

    /// Requests that the server has begun.
    pub fn requests(&self) -> u64 {
        self.memory.requests().seen
    }
}

/// A driver that has not ended well yet; one that panics is dropped so.
struct GivesUp<'a>(&'a AtomicBool);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Records until it is over, driven or by itself; the second is what the driver says.
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
