//! Tree-PLRU: a binary tree of bits over the ways; each bit points to the half to evict from next.
//!
//! A reference sets every bit on the way's path to the other half. The word of a set's first way
//! holds its tree. The root is bit 1; the children of bit `n` are bits `2 n` and `2 n + 1`. A path
//! is therefore the way's binary digits with a leading one. As in hardware, removing a line changes
//! no bit.

use super::policy_state::{EMPTY, PolicyState, Set};
use crate::ids::LineId;

// Not inlined: few machines use it, and it would take registers from the loop for LRU.
#[inline(never)]
pub(super) fn hit(state: &mut PolicyState, set: Set, way: usize) {
    let tree = &mut state.words[set.first];
    let leaf = set.ways | way;
    for level in 1..=set.ways.trailing_zeros() {
        let (node, went) = (leaf >> level, leaf >> (level - 1) & 1);
        *tree = *tree & !(1 << node) | (1 ^ went as u64) << node;
    }
}

#[inline(never)]
pub(super) fn place(state: &mut PolicyState, set: Set, tags: &[LineId]) -> usize {
    let tags = &tags[set.first..][..set.ways];
    let empty = tags.iter().position(|&tag| tag == EMPTY);
    let way = empty.unwrap_or_else(|| pointed_to(state.words[set.first], set.ways));
    hit(state, set, way);
    way
}

fn pointed_to(tree: u64, ways: usize) -> usize {
    let down = |node: usize, _| (node << 1) | (tree >> node & 1) as usize;
    (0..ways.trailing_zeros()).fold(1, down) - ways
}
