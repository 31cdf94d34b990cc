//! Random: hits mean nothing, and any way of a full set makes room.
//!
//! Second levels of today's processors keep part of a path that is larger than they are, where the
//! other policies here keep next to nothing; so does this one. Which way is next comes from how
//! many lines the set has replaced so far, by the output function of SplitMix64 (Steele, Lea and
//! Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), so that a set's history
//! alone decides, however a replay is divided up. The word of a set's first way counts them.

use super::policy_state::{EMPTY, PolicyState, Set};
use crate::ids::LineId;

// Few machines have it, and it would take the registers of the loop that those with LRU run in.
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

/// SplitMix64's number so many steps from 0.
fn number(step: u64) -> u64 {
    let mut mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
