//! First in, first out: a queue of ways that hits leave alone.
//!
//! A pointer that goes round the ways, as hardware has it, would give the same order only while
//! no line is ever taken away; stores of other cores and inclusive outer levels do that.

use super::queue::Queue;

#[derive(Clone)]
pub(crate) struct Fifo(Queue);

impl Fifo {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Fifo(Queue::new(sets, ways))
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
