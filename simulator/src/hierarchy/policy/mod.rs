//! Replacement policies: which line of a full set makes room.
//!
//! A policy sees ways, not lines: one that a cache hits, one to put a new line in, one that became
//! empty. It remembers one word a way, to which it gives what meaning it likes. Its contract, on
//! which caches and trace reduction rely: referencing a way twice in a row, with nothing
//! else happening in the set between, equals referencing it once. Dispatch is a match over a few
//! policies; a trait object was rejected, as it would stand in the L1-hit path.

mod ages;
mod fifo;
mod lru;
mod plru;
mod policy_state;
mod random;

use crate::ids::LineId;
use crate::machine::Policy;

pub(crate) use policy_state::{EMPTY, PolicyState, Set};

impl PolicyState {
    /// Appends an empty set.
    pub fn add(&mut self, policy: Policy, ways: usize) {
        match policy {
            Policy::Lru | Policy::Fifo => self.words.extend(0..ways as u64),
            Policy::Plru | Policy::Random => self.words.resize(self.words.len() + ways, 0),
        }
    }

    /// The line in `way` of `set` was found.
    #[inline(always)]
    pub fn hit(&mut self, policy: Policy, set: Set, way: usize) {
        match policy {
            Policy::Lru => lru::hit(self, set, way),
            _ => self.hit_unusually(policy, set, way),
        }
    }

    /// The way of `set` for a new line, an empty one if there is any. `tags` are the lines of all
    /// ways, with [`EMPTY`] for none.
    #[inline(always)]
    pub fn place(&mut self, policy: Policy, set: Set, tags: &[LineId]) -> usize {
        match policy {
            Policy::Lru => lru::place(self, set),
            _ => self.place_unusually(policy, set, tags),
        }
    }

    /// The line in `way` of `set` was taken away.
    #[inline(always)]
    pub fn removed(&mut self, policy: Policy, set: Set, way: usize) {
        match policy {
            Policy::Lru => lru::removed(self, set, way),
            _ => self.removed_unusually(policy, set, way),
        }
    }

    // Few machines have another policy than LRU. Inlined wherever a policy is asked, the others
    // would leave LRU too few registers: replays took a tenth longer.

    #[cold]
    #[inline(never)]
    fn hit_unusually(&mut self, policy: Policy, set: Set, way: usize) {
        match policy {
            Policy::Lru => lru::hit(self, set, way),
            Policy::Fifo | Policy::Random => (),
            Policy::Plru => plru::hit(self, set, way),
        }
    }

    #[cold]
    #[inline(never)]
    fn place_unusually(&mut self, policy: Policy, set: Set, tags: &[LineId]) -> usize {
        match policy {
            Policy::Lru => lru::place(self, set),
            Policy::Fifo => fifo::place(self, set),
            Policy::Plru => plru::place(self, set, tags),
            Policy::Random => random::place(self, set, tags),
        }
    }

    #[cold]
    #[inline(never)]
    fn removed_unusually(&mut self, policy: Policy, set: Set, way: usize) {
        match policy {
            Policy::Lru => lru::removed(self, set, way),
            Policy::Fifo => fifo::removed(self, set, way),
            Policy::Plru | Policy::Random => (),
        }
    }
}
