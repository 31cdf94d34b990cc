//! The latest branches of a core, one bit each, and their folds.
//!
//! Bit 0 is the latest branch. The fold of a length and a width has at each of its bits the XOR of
//! those of the latest `length` bits whose index is the same modulo `width` (Michaud, "A PPM-like,
//! tag-based branch predictor", Journal of Instruction-Level Parallelism 7, 2005). A new branch
//! changes it by a rotation and two bits.

/// Number of bits, at least one more than the longest fold.
const BITS: usize = 320;

#[derive(Clone, Debug)]
pub(super) struct History {
    bits: [u64; BITS / 64],
}

impl History {
    pub fn new() -> History {
        History {
            bits: [0; BITS / 64],
        }
    }

    /// Returns the bit at `index`.
    #[inline]
    fn bit(&self, index: usize) -> u64 {
        (self.bits[index / 64] >> (index % 64)) & 1
    }

    /// Adds the latest branch to the history and to these folds of it.
    #[inline]
    pub fn push<'a>(&mut self, bit: bool, folds: impl Iterator<Item = &'a mut Fold>) {
        for fold in folds {
            let oldest = self.bit(fold.length - 1);
            fold.push(u64::from(bit), oldest);
        }
        let mut carry = u64::from(bit);
        for word in &mut self.bits {
            let next = *word >> 63;
            *word = (*word << 1) | carry;
            carry = next;
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fold {
    length: usize,
    width: u32,
    value: u64,
}

impl Fold {
    /// Returns the fold of an empty history.
    pub fn new(length: usize, width: u32) -> Fold {
        assert!(length < BITS && width < 64);
        Fold {
            length,
            width,
            value: 0,
        }
    }

    #[inline]
    pub fn value(&self) -> usize {
        self.value as usize
    }

    /// Adds the latest bit; `oldest` is the bit that the fold no longer has.
    #[inline]
    fn push(&mut self, latest: u64, oldest: u64) {
        let mask = (1 << self.width) - 1;
        let rotated = ((self.value << 1) & mask) | (self.value >> (self.width - 1));
        self.value = rotated ^ latest ^ (oldest << (self.length as u32 % self.width));
    }
}
