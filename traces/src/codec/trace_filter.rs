//! Trace stripping (Puzak, 1985; Wang and Baer, 1991): removes references that change no cache.
//!
//! Lines of different set partitions never share a set: their numbers differ modulo a number that
//! divides the set count of every cache. A reference therefore changes nothing if it repeats the
//! previous one in its set partition: the same line, kind of access and core. It hits in the first
//! level, and every policy treats two consecutive references to a line as one. A load after a store
//! to the line changes nothing either. A store after a load does, because it must reach the other
//! cores.
//!
//! For a recorded mariadbd, three quarters of the references are removed. Removing more, such as
//! fetches and loads of two alternating lines, is equally exact. It saves only another 8 % and
//! costs a branch.

use crate::model::reference::LineReference;

/// Removes references that follow from the preceding ones.
pub struct TraceFilter {
    /// Mask of a reference's bits that give its set partition. The bits of the kind are zero.
    mask: u64,
    /// By the masked bits: [`LineReference::bits`] of the last kept reference in the set partition.
    /// Three in four entries are unused, because shifting out the kind for each reference takes
    /// longer.
    last: [u64; TraceFilter::MAX_SET_PARTITIONS * 4],
}

/// No reference: lines are addresses divided by 64, so the highest bits of a reference are zero.
const NONE: u64 = u64::MAX;

impl TraceFilter {
    /// Maximum number of set partitions.
    pub const MAX_SET_PARTITIONS: usize = 64;

    /// Maximum number of references per call.
    pub const AT_ONCE: usize = 1 << 10;

    /// Creates a trace filter for this number of `set_partitions`.
    ///
    /// # Panics
    /// If `set_partitions` is not a power of two, or exceeds [`TraceFilter::MAX_SET_PARTITIONS`].
    pub fn new(set_partitions: u64) -> TraceFilter {
        assert!(
            set_partitions.is_power_of_two()
                && set_partitions <= TraceFilter::MAX_SET_PARTITIONS as u64,
            "{set_partitions} set partitions"
        );
        TraceFilter {
            mask: (set_partitions - 1) << 2,
            last: [NONE; TraceFilter::MAX_SET_PARTITIONS * 4],
        }
    }

    /// Keeps the next reference in each set partition: another core may make it, or other
    /// references may precede it.
    pub fn forget(&mut self) {
        self.last.fill(NONE);
    }

    /// Keeps the next reference in the set partition of a line.
    pub(crate) fn forget_line(&mut self, line: u64) {
        self.last[(line << 2 & self.mask) as usize] = NONE;
    }

    /// Copies the references that are not removed to `kept`, and returns their number. The rest of
    /// `kept` is undefined.
    ///
    /// # Panics
    /// If there are more than [`TraceFilter::AT_ONCE`].
    #[inline]
    pub fn strip(
        &mut self,
        references: &[LineReference],
        kept: &mut [LineReference; TraceFilter::AT_ONCE],
    ) -> usize {
        assert!(references.len() <= TraceFilter::AT_ONCE);
        let mask = self.mask as usize % self.last.len();
        let mut count = 0;
        let mut take = |reference: &LineReference| {
            let bits = reference.bits();
            let last = &mut self.last[bits as usize & mask];
            let keep = !reference.repeats(*last);
            *last = std::hint::select_unpredictable(keep, bits, *last);
            // Every reference is written, and the position advances only past those to keep. A
            // processor cannot predict which ones these are, and a misprediction costs more than a
            // store.
            kept[count % TraceFilter::AT_ONCE] = *reference;
            count += usize::from(keep);
        };
        // Four at a time, to reduce the loop overhead.
        let (fours, rest) = references.as_chunks::<4>();
        fours
            .iter()
            .for_each(|four| four.iter().for_each(&mut take));
        rest.iter().for_each(take);
        count
    }
}
