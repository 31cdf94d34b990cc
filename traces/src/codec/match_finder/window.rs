//! Windows of executions, and the last occurrence of each.
//!
//! A repeated window begins a match. All windows of all threads share one table of fixed size,
//! which fits into a second-level cache. An overwritten slot costs at most a match.

use crate::model::limits::MAX_EXECUTIONS;

/// Number of executions that must be equal. A shorter match takes as much space as its executions.
/// With longer windows, a server that does little between two differences, such as redis, has no
/// matches.
pub const WINDOW: usize = 5;
/// log2 of the number of slots. A window replaces an earlier one in the same slot.
const TABLE_BITS: u32 = 15;

/// The match finders' hash table: the last place of each window. All threads share it, because few
/// run at once.
pub struct HashTable {
    /// By the high bits of a window's hash.
    slots: Vec<Slot>,
    chunks: u32,
}

/// A place; the bits above it contain part of the hash and of the chunk's number.
type Slot = u32;

const PLACE: u32 = MAX_EXECUTIONS as u32 - 1;

impl Default for HashTable {
    fn default() -> HashTable {
        HashTable {
            slots: vec![0; 1 << TABLE_BITS],
            chunks: 0,
        }
    }
}

impl HashTable {
    /// Returns a number that no chunk with windows in the table has.
    pub fn next_chunk(&mut self) -> u32 {
        if self.chunks == u32::MAX {
            *self = HashTable::default();
        }
        self.chunks += 1;
        self.chunks
    }

    /// Enters a window of a chunk. Returns the place of the previous window in its slot if that is
    /// likely to be equal. A window of an ended chunk passes this check once in 2^12 times.
    #[inline]
    pub fn enter(&mut self, hash: u64, chunk: u32, place: usize) -> Option<usize> {
        let check = (hash as u32 ^ chunk.wrapping_mul(FACTOR as u32)) & !PLACE;
        let slot = &mut self.slots[(hash >> (64 - TABLE_BITS)) as usize];
        let earlier = std::mem::replace(slot, check | place as u32 & PLACE);
        (earlier & !PLACE == check).then_some((earlier & PLACE) as usize)
    }
}

/// A hash of the last [`WINDOW`] executions: a polynomial in [`FACTOR`] that can be updated for the
/// next place (Karp and Rabin, 1987).
#[derive(Default)]
pub struct Window {
    polynomial: u64,
    /// Hash of each execution in it, by place modulo the window size.
    hashes: [u64; WINDOW],
}

/// Odd, with random-looking bits: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Window {
    /// Adds the next execution, at `place`; returns the hash of the window that ends with it.
    pub fn advance(&mut self, place: usize, hash: u64) -> u64 {
        const OF_THE_FIRST: u64 = FACTOR.wrapping_pow(WINDOW as u32);
        let gone = std::mem::replace(&mut self.hashes[place % WINDOW], hash);
        let all = self.polynomial.wrapping_mul(FACTOR).wrapping_add(hash);
        self.polynomial = all.wrapping_sub(gone.wrapping_mul(OF_THE_FIRST));
        // The high bits of a product depend on all bits of its factors.
        self.polynomial.wrapping_mul(FACTOR)
    }
}

/// Hashes the first word, the last word and their number: the code block, usually its first access,
/// and its last access. A window that is found is compared completely.
pub fn hash_of(words: &[u64]) -> u64 {
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return 0;
    };
    let hash = (first ^ last.rotate_left(32)).wrapping_add(words.len() as u64);
    let hash = hash.wrapping_mul(FACTOR);
    hash ^ hash >> 32
}
