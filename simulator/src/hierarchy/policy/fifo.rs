//! First in, first out: as LRU, but hits leave a way as old as it is.
//!
//! A pointer that goes round the ways, as hardware has it, would give the same order only while
//! no line is ever taken away; stores of other cores and inclusive outer levels do that.

use super::ages;
use super::policy_state::{PolicyState, Set};

#[inline(always)]
pub(super) fn place(state: &mut PolicyState, set: Set) -> usize {
    ages::renew_oldest(state, set)
}

#[inline(always)]
pub(super) fn removed(state: &mut PolicyState, set: Set, way: usize) {
    ages::forget(state, set, way);
}
