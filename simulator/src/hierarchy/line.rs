//! A line of the hierarchy state: its sets, and the clusters that hold it.

#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// Low bits of line number / number of set partitions. There are enough for the sets of L1s,
    /// and of L2s without a page map.
    pub quotient: u32,
    /// Its L3 set.
    pub l3_set: u32,
    /// One bit for each cluster that holds the line in its L2 or an L1; exact.
    pub holders: u64,
}

/// Returns the positions of the set bits in `bits`.
#[inline(always)]
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(place)
    })
}
