//! One cache: where its ways are among those of all caches of a hierarchy.
//!
//! A cache is never searched. Where a line lies is kept with the line, in [`crate::Hierarchy`],
//! which asks about it before it comes here. So what is left of a cache is which line lies in each
//! of its ways, to say what a new line replaced, and what its policy remembers; both are kept in
//! one row for all caches, where a hit finds them without asking whose they are.

use super::policy::{EMPTY, PolicyState, Set};
use crate::ids::LineId;
use crate::machine::{Level, Policy};
use crate::report::observer::CacheLevel;

/// One instance of one level, restricted to the lines of a hierarchy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache {
    /// Which cache of the hierarchy.
    pub index: u32,
    pub level: CacheLevel,
    /// Which instance of its level.
    pub instance: u32,
    /// Number of sets less one. In an L3 whose sets are no power of two it is no mask, and the
    /// hierarchy keeps each line's set instead.
    pub last_set: u32,
    ways: u32,
    /// Its first way, among those of all caches.
    first: u32,
    policy: Policy,
}

impl Cache {
    /// The cache that comes after `before`, of so many sets.
    pub fn new(
        level: CacheLevel,
        instance: u32,
        of: &Level,
        sets: u64,
        before: Option<&Cache>,
    ) -> Cache {
        Cache {
            index: before.map_or(0, |before| before.index + 1),
            level,
            instance,
            last_set: sets as u32 - 1,
            ways: of.ways,
            first: before.map_or(0, Cache::end),
            policy: of.policy,
        }
    }

    fn end(&self) -> u32 {
        self.first + (self.last_set + 1) * self.ways
    }

    #[inline(always)]
    fn set(&self, set: usize) -> Set {
        Set {
            first: self.first as usize + set * self.ways as usize,
            ways: self.ways as usize,
        }
    }
}

/// The ways of all caches.
#[derive(Clone)]
pub(crate) struct Ways {
    /// The line in each, or [`EMPTY`].
    tags: Vec<LineId>,
    state: PolicyState,
}

impl Ways {
    /// Of these caches, all empty.
    pub fn new(caches: &[Cache]) -> Ways {
        let mut state = PolicyState::default();
        for cache in caches {
            for _ in 0..=cache.last_set {
                state.add(cache.policy, cache.ways as usize);
            }
        }
        Ways {
            tags: vec![EMPTY; caches.last().map_or(0, Cache::end) as usize],
            state,
        }
    }

    /// The line in `way` of `set` of `cache` was found.
    #[inline(always)]
    pub fn hit(&mut self, cache: &Cache, set: usize, way: usize) {
        self.state.hit(cache.policy, cache.set(set), way);
    }

    /// Puts `line`, which is not there, into `set` of `cache`; gives its way, and the line it
    /// replaced or [`EMPTY`].
    #[inline(always)]
    pub fn fill(&mut self, cache: &Cache, set: usize, line: LineId) -> (usize, LineId) {
        let set = cache.set(set);
        let way = self.state.place(cache.policy, set, &self.tags);
        let tag = &mut self.tags[set.first + way];
        (way, std::mem::replace(tag, line))
    }

    /// Takes away the line in `way` of `set` of `cache`.
    #[inline(always)]
    pub fn remove(&mut self, cache: &Cache, set: usize, way: usize) {
        let set = cache.set(set);
        self.tags[set.first + way] = EMPTY;
        self.state.removed(cache.policy, set, way);
    }
}
