//! First in, first out: as LRU, but hits leave a way as old as it is.
//!
//! A pointer that goes round the ways, as hardware has it, would give the same order only while
//! no line is ever taken away; stores of other cores and inclusive outer levels do that.

use super::ages;
use super::memory::{Memory, Set};

#[inline(always)]
pub(super) fn place(memory: &mut Memory, set: Set) -> usize {
    ages::renew_oldest(memory, set)
}

#[inline(always)]
pub(super) fn removed(memory: &mut Memory, set: Set, way: usize) {
    ages::forget(memory, set, way);
}
