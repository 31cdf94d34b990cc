//! Least recently used: every reference makes a way the newest, and the oldest makes room.

use super::ages;
use super::memory::{Memory, Set};

#[inline(always)]
pub(super) fn hit(memory: &mut Memory, set: Set, way: usize) {
    ages::reference(memory, set, way);
}

#[inline(always)]
pub(super) fn place(memory: &mut Memory, set: Set) -> usize {
    ages::renew_oldest(memory, set)
}

#[inline(always)]
pub(super) fn removed(memory: &mut Memory, set: Set, way: usize) {
    ages::forget(memory, set, way);
}
