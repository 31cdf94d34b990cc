//! Two threads on two CPUs that alternate by a word in memory, until one of them stops.
//!
//! Both poll the word continuously: nothing between two cores can be faster.

use crate::calibration::error::Error;
use crate::calibration::pinned::pin;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The partner has not started yet.
const ABSENT: u32 = 0;
/// The partner waits for requests.
const READY: u32 = 1;
/// The partner could not be pinned to its CPU.
const FAILED: u32 = 2;
/// No more requests follow.
const END: u32 = 3;
/// The first request; its answer is one more.
const FIRST: u32 = 4;

/// A separate cache line, as is the adjacent one, which a processor may fetch with it.
#[repr(align(128))]
struct Word(AtomicU32);

/// The requesting side.
pub struct Asking<'a> {
    word: &'a Word,
    question: Cell<u32>,
}

impl Asking<'_> {
    /// Makes the partner take a turn, and waits until it has.
    pub fn ask(&self) {
        let question = self.question.get();
        self.word.0.store(question, Ordering::Release);
        while self.word.0.load(Ordering::Acquire) != question + 1 {}
        self.question.set(match question.checked_add(2) {
            Some(next) if next < u32::MAX => next,
            _ => FIRST,
        });
    }
}

/// When the requesting side ends for any reason, the partner ends too.
impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.word.0.store(END, Ordering::Release);
    }
}

/// Runs `work` on the first CPU. It may request runs of `turn` on the second.
///
/// # Errors
/// [`Error::Pin`] if a thread cannot be pinned to its CPU.
pub fn between<T: Send>(
    cpus: [usize; 2],
    turn: impl Fn() + Send,
    work: impl FnOnce(&Asking<'_>) -> T + Send,
) -> Result<T, Error> {
    let word = &Word(AtomicU32::new(ABSENT));
    std::thread::scope(|scope| {
        let partner = scope.spawn(move || {
            let pinned = pin(cpus[1]);
            let first = if pinned.is_ok() { READY } else { FAILED };
            word.0.store(first, Ordering::Release);
            if pinned.is_ok() {
                answer(word, turn);
            }
            pinned
        });
        let worker = scope.spawn(move || {
            let mut state = ABSENT;
            while state == ABSENT {
                state = word.0.load(Ordering::Acquire);
            }
            let question = Cell::new(FIRST);
            let asking = (state == READY).then_some(Asking { word, question });
            pin(cpus[0])?;
            Ok::<_, Error>(asking.map(|asking| work(&asking)))
        });
        let worked = joined(worker.join());
        joined(partner.join())?;
        Ok(worked?.expect("a partner that is ready"))
    })
}

fn joined<T>(outcome: std::thread::Result<T>) -> T {
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Takes a turn for each new request.
fn answer(word: &Word, turn: impl Fn()) {
    let mut answered = READY;
    loop {
        let said = word.0.load(Ordering::Acquire);
        if said == END {
            return;
        }
        if said != answered {
            turn();
            answered = said + 1;
            word.0.store(answered, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corehop_support::topology::allowed;

    #[test]
    fn each_question_is_answered_once() {
        let cpus = allowed();
        let pair = [cpus[0], *cpus.last().unwrap()];
        let turns = AtomicU32::new(0);
        let count = || {
            turns.fetch_add(1, Ordering::Relaxed);
        };
        // On one CPU, both threads spin for whole time slices of the scheduler, so few requests
        // must do.
        let asked = between(pair, count, |asking| (0..5).for_each(|_| asking.ask()));
        assert!(asked.is_ok());
        assert_eq!(turns.into_inner(), 5);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_on_either_side() {
        let here = allowed()[0];
        let nowhere = rustix::thread::CpuSet::MAX_CPU - 1;
        for cpus in [[here, nowhere], [nowhere, here]] {
            assert!(between(cpus, || (), |asking| asking.ask()).is_err());
        }
    }
}
