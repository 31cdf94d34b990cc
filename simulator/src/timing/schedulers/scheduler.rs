//! What a scheduler decides.
//!
//! A thread that a request wakes waits for the core that it ran on last, whatever the scheduler. A
//! core takes from its own queue first. All else is asked here.

use super::queues::{Queues, Waiting};

/// A running thread that comes to a function of the split.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Where it runs.
    pub core: usize,
    /// The stage that it was in.
    pub from: u32,
    /// The stage that the split has it in from here on.
    pub to: u32,
}

/// What a thread does at a function of the split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// It goes on.
    Stay,
    /// It waits for another core, which pays a hop when it takes it.
    Hop(usize),
    /// It waits for the core that it runs on.
    Yield,
}

/// A policy.
pub trait Scheduler: Send {
    /// The core that a connection's thread first waits for.
    fn first_core(&self, connection: usize) -> usize;

    /// A thread comes to a function that its split moves it at, or back from one.
    fn enter(&mut self, thread: Thread, queues: &Queues) -> Move {
        let _ = (thread, queues);
        Move::Stay
    }

    /// Whether an idle `core` may take threads that wait for `from` while that runs another.
    fn may_take(&self, core: usize, from: usize) -> bool {
        let _ = (core, from);
        false
    }

    /// From which of these cores' queues an idle `core` takes the first thread; ascending, at least
    /// one.
    fn victim(&mut self, core: usize, candidates: &[usize], queues: &Queues) -> usize {
        let _ = (core, queues);
        candidates[0]
    }

    /// Which of the threads that wait for `core`, and are ready, comes next; at least one.
    fn choose(&mut self, core: usize, ready: &[Waiting]) -> usize {
        let _ = (core, ready);
        0
    }
}

/// Of these cores the one whose queue is longest, and of several the first.
pub(crate) fn longest(candidates: &[usize], queues: &Queues) -> usize {
    let length = |core: usize| queues.waiting(core).len();
    let longer = |best: usize, &core: &usize| match length(core) > length(best) {
        true => core,
        false => best,
    };
    candidates.iter().fold(candidates[0], longer)
}
