//! Replacement policies: which line of a full set makes room.
//!
//! A policy sees ways, not lines: one that a cache hits, one to put a new line in, one that became
//! empty. Its contract, on which caches and the condensing of streams rely: touching a way twice
//! in a row, with nothing else happening in the set between, equals touching it once. Dispatch is
//! a match over three policies; a trait object was rejected, as it would stand in the L1-hit path.

mod ages;
mod fifo;
mod lru;
mod plru;

use crate::machine::Policy;
use fifo::Fifo;
use lru::Lru;
use plru::Plru;

/// No line in this way.
pub(crate) const EMPTY: u32 = u32::MAX;

/// One cache's policy, with what it remembers of each set.
#[derive(Clone)]
pub(crate) enum Replacement {
    Lru(Lru),
    Fifo(Fifo),
    Plru(Plru),
}

impl Replacement {
    /// For a cache of empty sets.
    pub(crate) fn new(policy: Policy, sets: usize, ways: usize) -> Self {
        match policy {
            Policy::Lru => Replacement::Lru(Lru::new(sets, ways)),
            Policy::Fifo => Replacement::Fifo(Fifo::new(sets, ways)),
            Policy::Plru => Replacement::Plru(Plru::new(sets, ways)),
        }
    }

    /// The line in `way` of `set` was found.
    #[inline(always)]
    pub(crate) fn hit(&mut self, set: usize, way: usize) {
        match self {
            Replacement::Lru(lru) => lru.hit(set, way),
            Replacement::Fifo(_) => (),
            Replacement::Plru(plru) => plru.hit(set, way),
        }
    }

    /// The way of `set` for a new line, an empty one if there is any. `tags` are the lines of the
    /// set, with [`EMPTY`] for none.
    #[inline(always)]
    pub(crate) fn place(&mut self, set: usize, tags: &[u32]) -> usize {
        match self {
            Replacement::Lru(lru) => lru.place(set),
            Replacement::Fifo(fifo) => fifo.place(set),
            Replacement::Plru(plru) => plru.place(set, tags),
        }
    }

    /// The line in `way` of `set` was taken away.
    #[inline(always)]
    pub(crate) fn removed(&mut self, set: usize, way: usize) {
        match self {
            Replacement::Lru(lru) => lru.removed(set, way),
            Replacement::Fifo(fifo) => fifo.removed(set, way),
            Replacement::Plru(_) => (),
        }
    }
}
