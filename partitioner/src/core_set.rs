//! The occurrences that run on one core, as a set that can be looked up.

/// A set of occurrence numbers below a fixed bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CoreSet(Box<[u64]>);

impl CoreSet {
    /// The empty set, for numbers below `bound`.
    pub fn empty(bound: usize) -> Self {
        CoreSet(vec![0; bound.div_ceil(64)].into())
    }

    /// Adds `occurrence`.
    pub fn insert(&mut self, occurrence: usize) {
        self.0[occurrence / 64] |= 1 << (occurrence % 64);
    }

    /// Whether `occurrence` is in the set.
    pub fn contains(&self, occurrence: usize) -> bool {
        self.0[occurrence / 64] >> (occurrence % 64) & 1 == 1
    }

    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}
