//! The decisions of a scheduler.
//!
//! Under every scheduler, a thread that a request wakes waits for the core that it last ran on, and
//! a core takes from its own queue first. The trait decides everything else.

use super::queues::{Queues, Waiting};

/// A running thread that reaches a function of the split.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// The core it runs on.
    pub core: usize,
    /// The stage that it was in.
    pub from: u32,
    /// The stage that the split assigns from here on.
    pub to: u32,
}

/// What a thread does at a function of the split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Continue.
    Stay,
    /// Wait for another core, which pays a hop when it starts the thread.
    Hop(usize),
    /// Wait for the core that it runs on.
    Yield,
}

/// A scheduling policy.
pub trait Scheduler: Send {
    /// Returns the core that a connection's thread first waits for.
    fn first_core(&self, connection: usize) -> usize;

    /// Decides for a thread that reaches a function at which its split moves it, or that returns
    /// from one.
    fn enter(&mut self, thread: Thread, queues: &Queues) -> Move {
        let _ = (thread, queues);
        Move::Stay
    }

    /// Returns whether an idle `core` may take threads that wait for `from` while `from` runs
    /// another.
    fn may_take(&self, core: usize, from: usize) -> bool {
        let _ = (core, from);
        false
    }

    /// Returns the core in `candidates` from whose queue an idle `core` takes the first thread;
    /// they are ascending, and there is at least one.
    fn victim(&mut self, core: usize, candidates: &[usize], queues: &Queues) -> usize {
        let _ = (core, queues);
        candidates[0]
    }

    /// Returns the index in `ready` of the next thread for `core`; there is at least one.
    fn choose(&mut self, core: usize, ready: &[Waiting]) -> usize {
        let _ = (core, ready);
        0
    }
}

/// Returns the core with the longest queue; of equal ones the first.
pub(crate) fn longest(candidates: &[usize], queues: &Queues) -> usize {
    let length = |core: usize| queues.waiting(core).len();
    let longer = |best: usize, &core: &usize| match length(core) > length(best) {
        true => core,
        false => best,
    };
    candidates.iter().fold(candidates[0], longer)
}
