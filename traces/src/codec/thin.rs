//! Leaves out references that change nothing in any cache.
//!
//! Lines of different *residues* (line number modulo a number that divides the set count of every
//! cache) never share a set of any cache. So a reference of the very line of its residue that was
//! referenced last, by the same kind of access, on the same core, changes nothing: it hits in the
//! first level, and a policy that sees a line twice in a row does as if it saw it once. So does a
//! load after a store of the line; a store after a load does not, because it must reach the other
//! cores.
//!
//! The field calls this trace stripping (Puzak, 1985). Three quarters of a recorded mariadbd's
//! references are left out. Leaving out more, such as fetches and loads of two lines that
//! alternate, is as exact, but saves another 8 % only and costs a branch.

use crate::model::reference::LineReference;

/// Leaves out what follows from the references before.
pub struct Thinner {
    /// What of a reference's bits tells its residue: that of its line, the kind's bits being zero.
    mask: u64,
    /// By those bits, [`LineReference::bits`] of the reference last kept of the residue. Three in
    /// four are not used; to shift the kind away for each reference takes longer.
    last: [u64; Thinner::MOST_RESIDUES * 4],
}

/// No reference: lines are addresses divided by 64, so the highest bits of a reference are zero.
const NONE: u64 = u64::MAX;

impl Thinner {
    /// The most residues.
    pub const MOST_RESIDUES: usize = 64;

    /// The most references at a time.
    pub const AT_ONCE: usize = 1 << 10;

    /// A thinner of lines of so many `residues`.
    ///
    /// # Panics
    /// When `residues` is no power of two, or more than [`Thinner::MOST_RESIDUES`].
    pub fn new(residues: u64) -> Thinner {
        assert!(
            residues.is_power_of_two() && residues <= Thinner::MOST_RESIDUES as u64,
            "{residues} residues"
        );
        Thinner {
            mask: (residues - 1) << 2,
            last: [NONE; Thinner::MOST_RESIDUES * 4],
        }
    }

    /// Keeps of each residue the reference that comes next: another core may make it, or others may
    /// come in between.
    pub fn forget(&mut self) {
        self.last.fill(NONE);
    }

    /// Keeps of the residue of a line the reference that comes next.
    pub(crate) fn forget_line(&mut self, line: u64) {
        self.last[(line << 2 & self.mask) as usize] = NONE;
    }

    /// Copies references to `kept`, but those that are left out; how many it copies. What comes
    /// after them in `kept` is of no meaning.
    ///
    /// # Panics
    /// When there are more than [`Thinner::AT_ONCE`].
    #[inline]
    pub fn thin(
        &mut self,
        references: &[LineReference],
        kept: &mut [LineReference; Thinner::AT_ONCE],
    ) -> usize {
        assert!(references.len() <= Thinner::AT_ONCE);
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
            kept[count % Thinner::AT_ONCE] = *reference;
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
