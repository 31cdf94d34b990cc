//! First in, first out: like LRU, but hits do not change a way's age.
//!
//! A round-robin pointer over the ways, as in hardware, would give the same order only if lines
//! were never removed; stores of other cores and inclusive outer levels remove lines.

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
