//! Windows of executions, and where each was met last.
//!
//! A window that comes once more begins a match. All windows of all threads are entered in one
//! table of fixed size, which stays in a second-level cache: what is lost with a slot is a match,
//! at most.

use crate::model::limits::MAX_EXECUTIONS;

/// So many executions must be the same. A shorter match takes as much room as what it stands for;
/// a longer one is missed where a server does little between two differences, as redis does.
pub const WINDOW: usize = 5;
/// Two to this power is the number of windows entered at a time; of two with the same number the
/// later one stays.
const TABLE_BITS: u32 = 15;

/// The match finders' hash table: where windows were last. All threads share it, since few are at
/// work at once.
pub struct HashTable {
    /// By some bits of a window's hash.
    slots: Vec<Slot>,
    chunks: u32,
}

/// A place, and in the bits above it some of the hash and of the chunk's number.
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
    /// A number that no chunk has whose windows are entered.
    pub fn next_chunk(&mut self) -> u32 {
        if self.chunks == u32::MAX {
            *self = HashTable::default();
        }
        self.chunks += 1;
        self.chunks
    }

    /// Enters a window of a chunk; where the one was that is entered under its number, if that is
    /// likely to be the same. Of a chunk that has ended it may be, once in 2^12.
    #[inline]
    pub fn enter(&mut self, hash: u64, chunk: u32, place: usize) -> Option<usize> {
        let check = (hash as u32 ^ chunk.wrapping_mul(FACTOR as u32)) & !PLACE;
        let slot = &mut self.slots[(hash >> (64 - TABLE_BITS)) as usize];
        let earlier = std::mem::replace(slot, check | place as u32 & PLACE);
        (earlier & !PLACE == check).then_some((earlier & PLACE) as usize)
    }
}

/// The last executions, [`WINDOW`] of them, as a hash: a polynomial in [`FACTOR`], from which that
/// of the next place follows (Karp and Rabin, 1987).
#[derive(Default)]
pub struct Window {
    polynomial: u64,
    /// Of each execution in it, by place modulo their number.
    hashes: [u64; WINDOW],
}

/// Odd, its bits random: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Window {
    /// Takes in the execution at `place`, the next; the hash of the window that ends with it.
    pub fn advance(&mut self, place: usize, hash: u64) -> u64 {
        const OF_THE_FIRST: u64 = FACTOR.wrapping_pow(WINDOW as u32);
        let gone = std::mem::replace(&mut self.hashes[place % WINDOW], hash);
        let all = self.polynomial.wrapping_mul(FACTOR).wrapping_add(hash);
        self.polynomial = all.wrapping_sub(gone.wrapping_mul(OF_THE_FIRST));
        // The high bits of a product depend on all bits of its factors.
        self.polynomial.wrapping_mul(FACTOR)
    }
}

/// The first word, the last and their number: which code block it was, most often what it
/// referenced first, and what it referenced last. Who finds a window compares all of it.
pub fn hash_of(words: &[u64]) -> u64 {
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return 0;
    };
    let hash = (first ^ last.rotate_left(32)).wrapping_add(words.len() as u64);
    let hash = hash.wrapping_mul(FACTOR);
    hash ^ hash >> 32
}
