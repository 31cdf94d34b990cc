//! Keys of sets of occurrences: the exclusive or of random 128-bit numbers, one per occurrence
//! (Zobrist hashing).
//!
//! The key of an interval is the exclusive or of two prefixes, so the sets of a split cost one step
//! per call. The probability that two of a million sets share a key is below 10^-26. Rejected: the
//! sets themselves as keys, which took most of a search's time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A set of occurrences.
pub(crate) type Key = u128;

/// A map by set.
pub(super) type ByKey<T> = HashMap<Key, T, BuildHasherDefault<KeyHasher>>;

/// The keys of all prefixes of the occurrences.
pub(super) struct Prefixes(Vec<Key>);

impl Prefixes {
    /// Computes the prefixes from the occurrences that count.
    pub fn of(counts: impl Iterator<Item = bool>) -> Prefixes {
        let mut key = 0;
        let following = (0..).zip(counts).map(|(occurrence, counts)| {
            if counts {
                key ^= random(occurrence);
            }
            key
        });
        Prefixes([0].into_iter().chain(following).collect())
    }

    pub fn key(&self, set: &[(u32, u32)]) -> Key {
        let of = |&(begin, end): &(u32, u32)| self.0[begin as usize] ^ self.0[end as usize];
        set.iter().map(of).fold(0, |key, of| key ^ of)
    }
}

/// Returns the key of the set with the single element `index`.
pub(crate) fn random(index: u64) -> Key {
    u128::from(mixed(2 * index)) << 64 | u128::from(mixed(2 * index + 1))
}

/// Returns number `index` of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014).
fn mixed(index: u64) -> u64 {
    let mixed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A hasher that uses keys as they are: they are already random.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
