//! Stores that wait for their lines while the core continues. They complete in order, and a core
//! waits when the buffer is full.

use crate::Core;
use crate::core_model::PARTS;

/// Times are in parts of a cycle.
#[derive(Clone, Debug)]
pub(crate) struct StoreBuffer {
    /// Completion times of the last stores, one for each buffer entry.
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

    /// Returns when a store at `now` can enter the buffer: when the previous store in its entry is
    /// done.
    #[inline(always)]
    pub fn when_it_has_room(&self, now: u64) -> u64 {
        now.max(self.done[self.next])
    }

    /// Adds a store that has its line `cycles` after `begun`; zero if the core owns it already.
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

    /// Returns when all stores are done.
    #[inline]
    pub fn last_done(&self) -> u64 {
        self.last_done
    }
}
