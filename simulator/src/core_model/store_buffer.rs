//! Stores that wait for their lines while the core goes on: they are done in order, and a core
//! waits when it has as many of them as the buffer has entries.

use crate::Core;
use crate::core_model::PARTS;

/// Times are in parts of a cycle.
#[derive(Clone, Debug)]
pub(crate) struct StoreBuffer {
    /// When each of the last stores is done, as many as the buffer has entries.
    done: Box<[u64]>,
    next: usize,
    last_done: u64,
}

impl StoreBuffer {
    pub fn new(core: &Core) -> StoreBuffer {
        StoreBuffer {
            done: vec![0; core.store_buffer_entries.max(1) as usize].into(),
            next: 0,
            last_done: 0,
        }
    }

    /// From `now` on, when the store is done whose entry the next one takes.
    #[inline(always)]
    pub fn when_it_has_room(&self, now: u64) -> u64 {
        now.max(self.done[self.next])
    }

    /// The next store: it has its line so many cycles after `begun`; none if it has it already.
    #[inline(always)]
    pub fn push(&mut self, begun: u64, cycles: u64) {
        if cycles > 0 {
            self.last_done = self.last_done.max(begun + (cycles << PARTS));
        }
        self.done[self.next] = self.last_done;
        self.next += 1;
        if self.next == self.done.len() {
            self.next = 0;
        }
    }

    /// When all stores are done.
    #[inline]
    pub fn last_done(&self) -> u64 {
        self.last_done
    }
}
