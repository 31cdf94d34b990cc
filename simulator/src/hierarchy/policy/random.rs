//! Random: hits have no effect, and any way of a full set may be evicted.
//!
//! If a program's path is larger than the cache, the second levels of current processors keep part
//! of it, and so does this policy; the other policies here keep almost nothing. The next way is
//! computed from the number of lines the set has replaced so far, by the output function of
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
//! 2014). The result thus depends only on the set's history, however a replay is divided. The word
//! of a set's first way is the counter.

use super::policy_state::{EMPTY, PolicyState, Set};
use crate::ids::LineId;

// Not inlined: few machines use it, and it would take registers from the loop for LRU.
#[inline(never)]
pub(super) fn place(state: &mut PolicyState, set: Set, tags: &[LineId]) -> usize {
    let tags = &tags[set.first..][..set.ways];
    let empty = tags.iter().position(|&tag| tag == EMPTY);
    empty.unwrap_or_else(|| {
        let replaced = &mut state.words[set.first];
        *replaced += 1;
        (number(*replaced) % set.ways as u64) as usize
    })
}

/// Returns SplitMix64's number after `step` steps from 0.
fn number(step: u64) -> u64 {
    let mut mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
