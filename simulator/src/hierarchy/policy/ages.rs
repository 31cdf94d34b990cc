//! Time of the last reference of each way, as policies count it.
//!
//! A reference is one store, and references to one set do not wait for each other. Finding the
//! oldest way takes a scan of all ways, but only a fill needs it. The alternative, each set's ways
//! in order packed into a word, has the oldest way available. But it makes every reference a chain
//! of a dozen operations that the next reference to the set must wait for: replays took half as
//! long again.
//!
//! A way's word is the time of its last reference, above its number; an empty way's time is 0. All
//! caches of a hierarchy share one clock, because only the order within a set matters.

use super::policy_state::{PolicyState, Set};

/// Bits of a word that hold the way's number; machines have at most 124 ways.
const WAY_BITS: u32 = 8;

/// Makes `way` the newest.
#[inline(always)]
pub(super) fn reference(state: &mut PolicyState, set: Set, way: usize) {
    state.now += 1 << WAY_BITS;
    state.words[set.first + way] = state.now | way as u64;
}

/// Makes the oldest way, or an empty one if there is any, the newest; returns that way.
#[inline(always)]
pub(super) fn renew_oldest(state: &mut PolicyState, set: Set) -> usize {
    state.now += 1 << WAY_BITS;
    let words = &mut state.words[set.first..][..set.ways];
    let number = |word: u64| (word & ((1 << WAY_BITS) - 1)) as usize;
    match <&mut [u64; 8]>::try_from(&mut *words) {
        // Most first and second levels have eight ways. A tree of minima avoids a long dependency
        // chain.
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

/// Makes the newest way older than the newer half of the other ways that hold a line.
#[cold]
pub(super) fn age_newest_by_half(state: &mut PolicyState, set: Set) {
    let words = &mut state.words[set.first..][..set.ways];
    let mut held: Vec<u64> = words
        .iter()
        .copied()
        .filter(|word| word >> WAY_BITS > 0)
        .collect();
    held.sort_unstable();
    let times: Vec<u64> = held.iter().map(|word| word >> WAY_BITS).collect();
    if let Some(newest) = held.pop() {
        held.insert(times.len() / 2, newest);
    }
    for (word, time) in held.into_iter().zip(times) {
        let way = word & ((1 << WAY_BITS) - 1);
        words[way as usize] = time << WAY_BITS | way;
    }
}

/// Makes `way` as old as one that was never referenced.
#[inline(always)]
pub(super) fn forget(state: &mut PolicyState, set: Set, way: usize) {
    state.words[set.first + way] = way as u64;
}
