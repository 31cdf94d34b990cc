//! First in, first out: as LRU, but hits leave a way as old as it is.
//!
//! A pointer that goes round the ways, as hardware has it, would give the same order only while
//! no line is ever taken away; stores of other cores and inclusive outer levels do that.

use super::ages::Ages;

#[derive(Clone)]
pub(crate) struct Fifo(Ages);

impl Fifo {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Fifo(Ages::new(sets, ways))
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
