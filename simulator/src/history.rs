//! Why a core no longer holds a line it once held.
//!
//! Asked once per L2 miss and told once per line that leaves an L2, so a hash map is cheap enough.
//! Keeping the reason in the caches was the alternative: but the line asked about is in none.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What removed a line from a core's L2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The core itself, to make room.
    Capacity,
    /// Another core's store.
    Coherence,
    /// The L3, to make room there.
    Inclusion,
}

/// The last removal of every line that ever left one core's L2.
#[derive(Default)]
pub(crate) struct History {
    removals: HashMap<u64, Removal, BuildHasherDefault<LineHasher>>,
}

impl History {
    /// Notes that `line` left.
    pub(crate) fn removed(&mut self, line: u64, removal: Removal) {
        self.removals.insert(line, removal);
    }

    /// Why `line`, which the core does not hold, is missing; `None` if it never held it.
    pub(crate) fn last_removal(&self, line: u64) -> Option<Removal> {
        self.removals.get(&line).copied()
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

    fn write_u64(&mut self, line: u64) {
        let product = (self.0 ^ line).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}
