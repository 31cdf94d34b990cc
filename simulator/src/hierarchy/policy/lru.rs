//! Least recently used: every reference makes a way the newest, and the oldest is evicted.

use super::ages;
use super::policy_state::{PolicyState, Set};

#[inline(always)]
pub(super) fn hit(state: &mut PolicyState, set: Set, way: usize) {
    ages::reference(state, set, way);
}

#[inline(always)]
pub(super) fn place(state: &mut PolicyState, set: Set) -> usize {
    ages::renew_oldest(state, set)
}

#[inline(always)]
pub(super) fn removed(state: &mut PolicyState, set: Set, way: usize) {
    ages::forget(state, set, way);
}
