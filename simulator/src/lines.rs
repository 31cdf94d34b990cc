//! Dense numbers for lines: a cache that knows a line by a small number can look up all it needs to
//! know of it in an array.
//!
//! A trace touches tens of thousands of different lines, not billions, and each is looked up once
//! per touch that is simulated, so a hash map here replaces several of them behind it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Lines in order of first use; a line's place there is its id.
#[derive(Default)]
pub(crate) struct LineNumbers {
    ids: HashMap<u64, u32, BuildHasherDefault<LineHasher>>,
    numbers: Vec<u64>,
}

impl LineNumbers {
    /// The id of a line, a new one if it was not met before.
    ///
    /// # Panics
    /// After 2^30 lines, whose contents are 64 GiB.
    #[inline]
    pub fn id(&mut self, number: u64) -> u32 {
        *self.ids.entry(number).or_insert_with(|| {
            assert!(self.numbers.len() < 1 << 30, "2^30 lines of one residue");
            self.numbers.push(number);
            self.numbers.len() as u32 - 1
        })
    }

    /// The numbers of all lines met, by id.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): the
/// lines are no attacker's, and the map's own hasher would be most of its cost.
#[derive(Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}
