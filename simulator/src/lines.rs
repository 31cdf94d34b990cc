//! Numbers lines densely, in the order in which they are first touched, as a world wants them.
//!
//! Programs touch few lines again and again, so a small table in front of the hash map, indexed by
//! the line number's low bits, answers nearly always.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The lines numbered so far.
pub(crate) struct Lines {
    ids: HashMap<u64, u32, BuildHasherDefault<LineHasher>>,
    recent: Box<[(u64, u32)]>,
    numbers: Vec<u64>,
}

/// Lines remembered in front of the map.
const RECENT: usize = 1 << 12;

/// No line: line numbers are addresses divided by 64.
const NONE: u64 = u64::MAX;

impl Lines {
    pub(crate) fn new() -> Self {
        Lines {
            ids: HashMap::default(),
            recent: vec![(NONE, 0); RECENT].into(),
            numbers: Vec::new(),
        }
    }

    /// The id of `line`, which `register` gives the first time.
    #[inline]
    pub(crate) fn id(&mut self, line: u64, register: impl FnOnce(u64) -> u32) -> u32 {
        let recent = &mut self.recent[line as usize % RECENT];
        if recent.0 != line {
            let numbers = &mut self.numbers;
            let id = *self.ids.entry(line).or_insert_with(|| {
                numbers.push(line);
                register(line)
            });
            *recent = (line, id);
        }
        recent.1
    }

    /// The line called `id`.
    pub(crate) fn number(&self, id: u32) -> u64 {
        self.numbers[id as usize]
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
