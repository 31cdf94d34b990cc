//! Line numbering: lines get dense ids in order of first reference.
//!
//! Programs reference few lines repeatedly. A small table in front of the hash map, indexed by the
//! line number's low bits, therefore almost always has the answer.

use crate::ids::LineId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The lines numbered so far.
pub struct Lines {
    ids: HashMap<u64, LineId, BuildHasherDefault<LineHasher>>,
    recent: Box<[(u64, LineId)]>,
    numbers: Vec<u64>,
}

/// Marks an empty entry: line numbers are addresses divided by 64 and never reach it.
const NONE: u64 = u64::MAX;

impl Lines {
    /// Creates an empty numbering; its table has `recent` entries.
    ///
    /// # Panics
    /// If `recent` is not a power of two.
    pub fn new(recent: usize) -> Self {
        assert!(recent.is_power_of_two(), "{recent} recent lines");
        Lines {
            ids: HashMap::default(),
            recent: vec![(NONE, LineId(0)); recent].into(),
            numbers: Vec::new(),
        }
    }

    /// Returns the id of `line`. Calls `register` for a new line.
    ///
    /// # Panics
    /// On the 2^30th line; that many lines are 64 GiB.
    #[inline]
    pub fn id(&mut self, line: u64, register: impl FnOnce(u64)) -> LineId {
        let place = line as usize & (self.recent.len() - 1);
        let recent = &mut self.recent[place];
        if recent.0 != line {
            let numbers = &mut self.numbers;
            let id = *self.ids.entry(line).or_insert_with(|| {
                assert!(numbers.len() < 1 << 30, "2^30 lines of one set partition");
                numbers.push(line);
                register(line);
                LineId(numbers.len() as u32 - 1)
            });
            *recent = (line, id);
        }
        recent.1
    }

    /// Returns the lines numbered so far, indexed by id.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Returns the memory size in bytes, as far as the map reports it.
    pub(crate) fn size_bytes(&self) -> usize {
        let entries = self.ids.capacity() * size_of::<(u64, LineId)>();
        let recent = self.recent.len() * size_of::<(u64, LineId)>();
        entries + recent + self.numbers.capacity() * size_of::<u64>()
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4). Line
/// numbers are not chosen by an attacker, and the default hasher would be most of the map's cost.
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
