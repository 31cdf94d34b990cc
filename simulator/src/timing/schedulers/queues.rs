//! The cores as a scheduler sees them: which run a thread, and which threads wait for each.
//!
//! A queue is in the order in which its threads became ready, and of those that did at once in the
//! order of their connections. Cores' clocks differ by a quantum or so, so a thread may stand in a
//! queue that is ready only at a later cycle than the core has come to.

use crate::CameBy;

/// A thread that waits for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Since when.
    pub ready: u64,
    /// Whose thread it is.
    pub connection: usize,
    /// The stage that it is in.
    pub stage: u32,
    /// Whether it comes by a hop, which is to be paid.
    pub hopped: bool,
    /// By what it gave its core up; `None` if a request woke it.
    pub came_by: Option<CameBy>,
}

/// All cores.
pub struct Queues {
    waiting: Vec<Vec<Waiting>>,
    running: Vec<Option<usize>>,
    all_waiting: usize,
}

impl Queues {
    /// Of so many idle cores.
    pub(crate) fn new(cores: usize) -> Queues {
        Queues {
            waiting: vec![Vec::new(); cores],
            running: vec![None; cores],
            all_waiting: 0,
        }
    }

    /// The connection whose thread runs on `core`.
    pub fn running(&self, core: usize) -> Option<usize> {
        self.running[core]
    }

    /// Those that wait for `core`, the next one first.
    pub fn waiting(&self, core: usize) -> &[Waiting] {
        &self.waiting[core]
    }

    /// How many threads `core` has: those that wait, and the one that runs.
    pub fn threads(&self, core: usize) -> usize {
        self.waiting[core].len() + usize::from(self.running[core].is_some())
    }

    /// Whether nobody waits anywhere.
    pub fn are_empty(&self) -> bool {
        self.all_waiting == 0
    }

    /// A thread begins to wait for `core`.
    pub(crate) fn push(&mut self, core: usize, thread: Waiting) {
        let queue = &mut self.waiting[core];
        let key = |thread: &Waiting| (thread.ready, thread.connection);
        let place = queue.partition_point(|before| key(before) <= key(&thread));
        queue.insert(place, thread);
        self.all_waiting += 1;
    }

    /// The thread at `place` of the queue of `from` runs on `core`.
    pub(crate) fn start(&mut self, core: usize, (from, place): (usize, usize)) -> Waiting {
        let thread = self.waiting[from].remove(place);
        self.all_waiting -= 1;
        self.running[core] = Some(thread.connection);
        thread
    }

    /// The thread that ran on `core` leaves it.
    pub(crate) fn stop(&mut self, core: usize) {
        self.running[core] = None;
    }
}
