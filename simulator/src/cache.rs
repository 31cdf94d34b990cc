//! One cache: which line lies in which way of which set.
//!
//! A cache is never searched. Where a line lies is kept with the line, in [`crate::World`], which
//! asks about it before it comes here; the tags are needed only to say what a new line replaced.

use crate::machine::Level;
use crate::policy::{EMPTY, Replacement};
use crate::watch::CacheLevel;

/// One instance of one level, restricted to the lines of a world.
#[derive(Clone)]
pub(crate) struct Cache {
    pub(crate) level: CacheLevel,
    /// Which instance of its level.
    pub(crate) instance: usize,
    /// Number of sets less one. In an L3 whose sets are no power of two it is no mask, and the
    /// world keeps each line's set instead.
    pub(crate) last_set: u32,
    ways: usize,
    tags: Vec<u32>,
    replacement: Replacement,
}

impl Cache {
    pub(crate) fn new(kind: CacheLevel, instance: usize, level: &Level, sets: u64) -> Self {
        let (sets, ways) = (sets as usize, level.ways as usize);
        Cache {
            level: kind,
            instance,
            last_set: sets as u32 - 1,
            ways,
            tags: vec![EMPTY; sets * ways],
            replacement: Replacement::new(level.policy, sets, ways),
        }
    }

    /// The line in `way` of `set` was found.
    #[inline(always)]
    pub(crate) fn hit(&mut self, set: usize, way: usize) {
        self.replacement.hit(set, way);
    }

    /// Puts `line`, which is not there, into `set`; gives its way, and the line it replaced or
    /// [`EMPTY`].
    #[inline(always)]
    pub(crate) fn fill(&mut self, set: usize, line: u32) -> (usize, u32) {
        let tags = &mut self.tags[set * self.ways..][..self.ways];
        let way = self.replacement.place(set, tags);
        (way, std::mem::replace(&mut tags[way], line))
    }

    /// Takes away the line in `way` of `set`.
    #[inline(always)]
    pub(crate) fn remove(&mut self, set: usize, way: usize) {
        self.tags[set * self.ways + way] = EMPTY;
        self.replacement.removed(set, way);
    }
}
