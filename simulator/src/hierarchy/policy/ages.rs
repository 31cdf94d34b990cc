//! When each way was last referenced, as policies count it.
//!
//! A reference is one store, and references of one set do not wait for each other; the oldest way
//! is found by looking at all of them, which only a fill has to do. The alternative, each set's
//! ways in order, packed into a word, has the last way at hand, but makes of every reference a
//! chain of a dozen operations that the next reference of the set must wait for: replays took half
//! as long again.
//!
//! A way's word is the time of its last reference, above its number; an empty way's time is 0. All
//! caches of a hierarchy read one clock, since only the order within a set matters.

use super::policy_state::{PolicyState, Set};

/// Bits of a word that number the way; machines have no more than 124.
const WAY_BITS: u32 = 8;

/// Makes `way` the newest.
#[inline(always)]
pub(super) fn reference(state: &mut PolicyState, set: Set, way: usize) {
    state.now += 1 << WAY_BITS;
    state.words[set.first + way] = state.now | way as u64;
}

/// Makes the oldest way the newest, an empty one if there is any; says which it was.
#[inline(always)]
pub(super) fn renew_oldest(state: &mut PolicyState, set: Set) -> usize {
    state.now += 1 << WAY_BITS;
    let words = &mut state.words[set.first..][..set.ways];
    let number = |word: u64| (word & ((1 << WAY_BITS) - 1)) as usize;
    match <&mut [u64; 8]>::try_from(&mut *words) {
        // So many have most first and second levels. A tree of minima has no long chain.
        Ok(words) => {
            let [a, b, c, d, e, f, g, h] = *words;
            let way = number((a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h))));
            words[way & 7] = state.now | way as u64;
            way
        }
        Err(_) => {
            let way = number(words.iter().copied().min().unwrap_or(0));
            words[way] = state.now | way as u64;
            way
        }
    }
}

/// Makes `way` as old as one that was never referenced.
#[inline(always)]
pub(super) fn forget(state: &mut PolicyState, set: Set, way: usize) {
    state.words[set.first + way] = way as u64;
}
