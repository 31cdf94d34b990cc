//! Replacement policies: which line of a full set is evicted.
//!
//! A policy sees ways, not lines: a way that hits, the way to fill, a way that became empty. It has
//! one word for each way, whose meaning it defines. Caches and trace reduction rely on its
//! contract: referencing a way twice in a row, with no other event in the set between, equals
//! referencing it once. Dispatch is a match over a few policies. A trait object was rejected,
//! because it would be in the L1-hit path.

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

    /// Records a hit in `way` of `set`.
    #[inline(always)]
    pub fn hit(&mut self, policy: Policy, set: Set, way: usize) {
        match policy {
            Policy::Lru => lru::hit(self, set, way),
            _ => self.hit_unusually(policy, set, way),
        }
    }

    /// Returns the way of `set` to fill, an empty one if there is any. `tags` are the lines of all
    /// ways, with [`EMPTY`] for none.
    #[inline(always)]
    pub fn place(&mut self, policy: Policy, set: Set, tags: &[LineId]) -> usize {
        match policy {
            Policy::Lru => lru::place(self, set),
            _ => self.place_unusually(policy, set, tags),
        }
    }

    /// Records that the line in `way` of `set` was removed.
    #[inline(always)]
    pub fn removed(&mut self, policy: Policy, set: Set, way: usize) {
        match policy {
            Policy::Lru => lru::removed(self, set, way),
            _ => self.removed_unusually(policy, set, way),
        }
    }

    /// Makes the newest line of `set` older than the newer half of the others, if the policy is
    /// LRU.
    pub fn age_newest_by_half(&mut self, policy: Policy, set: Set) {
        if policy == Policy::Lru {
            ages::age_newest_by_half(self, set);
        }
    }

    // Few machines use a policy other than LRU. If the others were inlined, they would leave LRU
    // too few registers: replays took a tenth longer.

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
