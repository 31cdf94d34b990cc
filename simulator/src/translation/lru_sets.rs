//! Sets of keys with least-recently-used replacement.

/// Marks an empty entry: keys have fewer bits.
const EMPTY: u64 = u64::MAX;

/// Keys in sets of a fixed number of ways.
#[derive(Clone, Debug)]
pub(super) struct LruSets {
    /// The keys of each set, most recently used first.
    keys: Vec<u64>,
    ways: usize,
    sets: u64,
}

impl LruSets {
    /// Creates empty sets.
    pub fn new(entries: u32, ways: u32) -> LruSets {
        LruSets {
            keys: vec![EMPTY; entries as usize],
            ways: ways as usize,
            sets: u64::from(entries / ways),
        }
    }

    /// Returns whether the set of `number` contains `key`; if so, makes it the most recently used.
    #[inline]
    pub fn find(&mut self, number: u64, key: u64) -> bool {
        let keys = self.set(number);
        if keys[0] == key {
            return true;
        }
        let Some(place) = keys.iter().position(|&held| held == key) else {
            return false;
        };
        keys[..=place].rotate_right(1);
        true
    }

    /// Puts `key`, which must not be there, into the set of `number`.
    pub fn fill(&mut self, number: u64, key: u64) {
        let keys = self.set(number);
        keys.rotate_right(1);
        keys[0] = key;
    }

    fn set(&mut self, number: u64) -> &mut [u64] {
        let first = (number % self.sets) as usize * self.ways;
        &mut self.keys[first..first + self.ways]
    }
}
