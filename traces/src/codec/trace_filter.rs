//! Trace stripping (Puzak, 1985; Wang and Baer, 1991): leaves out references that change no cache.
//!
//! Lines of different set partitions never share a set of any cache: their line numbers differ
//! modulo a number that divides the set count of every cache. So a reference changes nothing if the
//! reference before it in its set partition is of the same line, by the same kind of access, on the
//! same core. It hits in the first level, and every policy treats two references of a line in a row
//! like one. A load after a store of the line changes nothing either; a store after a load does,
//! because it must reach the other cores.
//!
//! Three quarters of a recorded mariadbd's references are left out. To leave out more, such as
//! fetches and loads of two lines that alternate, is as exact, but saves another 8 % only and costs
//! a branch.

use crate::model::reference::LineReference;

/// Leaves out what follows from the references before.
pub struct TraceFilter {
    /// What of a reference's bits tells its set partition: that of its line, the kind's bits being
    /// zero.
    mask: u64,
    /// By those bits, [`LineReference::bits`] of the reference last kept of the set partition.
    /// Three in four are not used; to shift the kind away for each reference takes longer.
    last: [u64; TraceFilter::MAX_SET_PARTITIONS * 4],
}

/// No reference: lines are addresses divided by 64, so the highest bits of a reference are zero.
const NONE: u64 = u64::MAX;

impl TraceFilter {
    /// The most set partitions.
    pub const MAX_SET_PARTITIONS: usize = 64;

    /// The most references at a time.
    pub const AT_ONCE: usize = 1 << 10;

    /// A trace filter of lines of so many `set_partitions`.
    ///
    /// # Panics
    /// When `set_partitions` is no power of two, or more than [`TraceFilter::MAX_SET_PARTITIONS`].
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

    /// Keeps of each set partition the reference that comes next: another core may make it, or
    /// others may come in between.
    pub fn forget(&mut self) {
        self.last.fill(NONE);
    }

    /// Keeps of the set partition of a line the reference that comes next.
    pub(crate) fn forget_line(&mut self, line: u64) {
        self.last[(line << 2 & self.mask) as usize] = NONE;
    }

    /// Copies references to `kept`, but those that are left out; how many it copies. What comes
    /// after them in `kept` is of no meaning.
    ///
    /// # Panics
    /// When there are more than [`TraceFilter::AT_ONCE`].
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
            // A load is one less than a store of the same line, and the only odd kind of the three.
            let keep = last.wrapping_sub(bits) > bits & 1;
            *last = std::hint::select_unpredictable(keep, bits, *last);
            // Every reference is put down, and only those to keep are gone past: which ones they
            // are is more than a processor can foresee, and a wrong guess costs more than a store.
            kept[count % TraceFilter::AT_ONCE] = *reference;
            count += usize::from(keep);
        };
        // Four at a time, so that less is spent on counting them.
        let (fours, rest) = references.as_chunks::<4>();
        fours
            .iter()
            .for_each(|four| four.iter().for_each(&mut take));
        rest.iter().for_each(take);
        count
    }
}
