//! The state that a scheduler sees: which cores run a thread, and which threads wait for each.
//!
//! A queue is sorted by the cycle at which threads became ready, and at equal cycles by connection.
//! Clocks of cores differ by about a quantum, so a queued thread may become ready later than the
//! core's current cycle.

use crate::CameBy;

/// A thread that waits for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The cycle since which it is ready.
    pub ready: u64,
    /// The connection of the thread.
    pub connection: usize,
    /// The stage that it is in.
    pub stage: u32,
    /// Whether it hops to the core, which then pays the cost.
    pub hopped: bool,
    /// Why it gave up its core; `None` if a request woke it.
    pub came_by: Option<CameBy>,
}

/// The queues of all cores.
pub struct Queues {
    waiting: Vec<Vec<Waiting>>,
    running: Vec<Option<usize>>,
    all_waiting: usize,
}

impl Queues {
    /// Creates queues for `cores` idle cores.
    pub(crate) fn new(cores: usize) -> Queues {
        Queues {
            waiting: vec![Vec::new(); cores],
            running: vec![None; cores],
            all_waiting: 0,
        }
    }

    /// Returns the connection whose thread runs on `core`.
    pub fn running(&self, core: usize) -> Option<usize> {
        self.running[core]
    }

    /// Returns the threads that wait for `core`, the next one first.
    pub fn waiting(&self, core: usize) -> &[Waiting] {
        &self.waiting[core]
    }

    /// Returns the number of threads of `core`: waiting and running.
    pub fn threads(&self, core: usize) -> usize {
        self.waiting[core].len() + usize::from(self.running[core].is_some())
    }

    /// Returns whether all queues are empty.
    pub fn are_empty(&self) -> bool {
        self.all_waiting == 0
    }

    /// Adds a thread to the queue of `core`.
    pub(crate) fn push(&mut self, core: usize, thread: Waiting) {
        let queue = &mut self.waiting[core];
        let key = |thread: &Waiting| (thread.ready, thread.connection);
        let place = queue.partition_point(|before| key(before) <= key(&thread));
        queue.insert(place, thread);
        self.all_waiting += 1;
    }

    /// Starts the thread at `place` of the queue of `from` on `core`.
    pub(crate) fn start(&mut self, core: usize, (from, place): (usize, usize)) -> Waiting {
        let thread = self.waiting[from].remove(place);
        self.all_waiting -= 1;
        self.running[core] = Some(thread.connection);
        thread
    }

    /// Removes the running thread from `core`.
    pub(crate) fn stop(&mut self, core: usize) {
        self.running[core] = None;
    }
}
