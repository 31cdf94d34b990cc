//! Least recently used: a queue of ways in which every touch moves a way to the front.
//!
//! Time stamps per line were rejected: finding the oldest would cost a look at every way, where the
//! queue's end is at hand.

use super::queue::Queue;

#[derive(Clone)]
pub(crate) struct Lru(Queue);

impl Lru {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Lru(Queue::new(sets, ways))
    }

    #[inline]
    pub(super) fn hit(&mut self, set: usize, way: usize) {
        self.0.move_to_front(set, way);
    }

    #[inline]
    pub(super) fn place(&mut self, set: usize) -> usize {
        self.0.move_last_to_front(set)
    }

    #[inline]
    pub(super) fn removed(&mut self, set: usize, way: usize) {
        self.0.move_to_back(set, way);
    }
}
