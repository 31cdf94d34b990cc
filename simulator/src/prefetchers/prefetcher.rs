//! The input and output of a prefetcher.
//!
//! Each core has one at its L2. It receives every reference that missed its L1, in order and after
//! the caches have served it, and may return one line. The engine brings that line into the L2 if
//! it is on the same page and not yet in the L2 or an L1 above.

use corehop_traces::Kind;

/// A reference that missed its L1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub kind: Kind,
    /// The line's number: its address divided by 64.
    pub line: u64,
    /// The low half of the address of the instruction, for a load or store.
    pub instruction: u32,
    /// Whether this is the first use of the line in the L2: the L2 missed it, or a prefetch brought
    /// it.
    pub is_first_use: bool,
}

/// One core's prefetcher.
pub(crate) trait Prefetcher: Default {
    /// Whether it ever prefetches.
    const ASKS: bool = true;

    /// Returns the number of the line to prefetch, if any.
    fn missed_l1(&mut self, miss: &Miss) -> Option<u64>;
}
