//! Prefix sums of words, accesses and fetches, up to the end of each execution.

use crate::codec::template::Size;
use std::ops::{Add, Sub};

/// Totals up to the end of an execution, packed into one number: words, data accesses, and fetches
/// without the first of each execution. Small, because all ends pass through the caches while a
/// thread repeats itself.
#[derive(Clone, Copy, Default)]
pub struct End(u64);

const WORDS_BITS: u32 = 22;
const DATA_BITS: u32 = 22;
pub const MOST_WORDS: usize = (1 << WORDS_BITS) - 1;
const MOST_DATA: usize = (1 << DATA_BITS) - 1;
const MOST_FETCHES: usize = (1 << (64 - WORDS_BITS - DATA_BITS)) - 1;

impl End {
    pub fn new(words: usize, size: Size) -> End {
        let (data, fetches) = (u64::from(size.data), u64::from(size.fetches.max(1)) - 1);
        End((fetches << DATA_BITS | data) << WORDS_BITS | words as u64)
    }

    pub fn words(self) -> usize {
        self.0 as usize & MOST_WORDS
    }

    pub fn data(self) -> usize {
        (self.0 >> WORDS_BITS) as usize & MOST_DATA
    }

    pub fn further_fetches(self) -> usize {
        (self.0 >> (WORDS_BITS + DATA_BITS)) as usize
    }

    /// Returns whether this much more can be represented.
    pub fn has_room(self, more: End) -> bool {
        self.words() + more.words() <= MOST_WORDS
            && self.data() + more.data() <= MOST_DATA
            && self.further_fetches() + more.further_fetches() <= MOST_FETCHES
    }
}

impl Add for End {
    type Output = End;

    fn add(self, other: End) -> End {
        End(self.0.wrapping_add(other.0))
    }
}

impl Sub for End {
    type Output = End;

    fn sub(self, other: End) -> End {
        End(self.0.wrapping_sub(other.0))
    }
}
