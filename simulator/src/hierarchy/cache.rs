//! One cache: the position of its ways among those of all caches of a hierarchy.
//!
//! A cache is never searched. The position of a line is stored with the line, in
//! [`crate::Hierarchy`], which is consulted first. A cache only stores the line in each way, to
//! return the replaced line, and the state of its policy. Both are in one array for all caches, so
//! that a hit needs no indirection.

use super::policy::{EMPTY, PolicyState, Set};
use crate::ids::LineId;
use crate::machine::{Level, Policy};
use crate::report::observer::CacheLevel;

/// One instance of one level, restricted to the lines of a hierarchy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache {
    /// Index in the hierarchy.
    pub index: u32,
    pub level: CacheLevel,
    /// Instance of its level.
    pub instance: u32,
    /// Number of sets minus one. It is not a mask for an L3 whose number of sets is not a power of
    /// two; the hierarchy stores each line's set instead.
    pub last_set: u32,
    ways: u32,
    /// Index of its first way among those of all caches.
    first: u32,
    policy: Policy,
}

impl Cache {
    /// Creates the cache that follows `before`, with `sets` sets.
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
    /// The line in each way, or [`EMPTY`].
    tags: Vec<LineId>,
    state: PolicyState,
}

impl Ways {
    /// Creates the ways of these caches, all empty.
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

    /// Updates the policy after a hit in `way` of `set` of `cache`.
    #[inline(always)]
    pub fn hit(&mut self, cache: &Cache, set: usize, way: usize) {
        self.state.hit(cache.policy, cache.set(set), way);
    }

    /// Puts `line`, which must not be in the cache, into `set` of `cache`. Returns its way, and the
    /// replaced line or [`EMPTY`].
    #[inline(always)]
    pub fn fill(&mut self, cache: &Cache, set: usize, line: LineId) -> (usize, LineId) {
        let set = cache.set(set);
        let way = self.state.place(cache.policy, set, &self.tags);
        let tag = &mut self.tags[set.first + way];
        (way, std::mem::replace(tag, line))
    }

    /// Makes the newest line in `set` of `cache` older than the newer half of the others, if the
    /// policy is LRU.
    pub fn age_newest_by_half(&mut self, cache: &Cache, set: usize) {
        self.state.age_newest_by_half(cache.policy, cache.set(set));
    }

    /// Removes the line in `way` of `set` of `cache`.
    #[inline(always)]
    pub fn remove(&mut self, cache: &Cache, set: usize, way: usize) {
        let set = cache.set(set);
        self.tags[set.first + way] = EMPTY;
        self.state.removed(cache.policy, set, way);
    }
}
