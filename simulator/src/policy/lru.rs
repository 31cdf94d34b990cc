//! Least recently used: every touch makes a way the newest, and the oldest makes room.

use super::ages::Ages;

#[derive(Clone)]
pub(crate) struct Lru(Ages);

impl Lru {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Lru(Ages::new(sets, ways))
    }

    #[inline(always)]
    pub(super) fn hit(&mut self, set: usize, way: usize) {
        self.0.touch(set, way);
    }

    #[inline(always)]
    pub(super) fn place(&mut self, set: usize) -> usize {
        self.0.renew_oldest(set)
    }

    #[inline(always)]
    pub(super) fn removed(&mut self, set: usize, way: usize) {
        self.0.forget(set, way);
    }
}
