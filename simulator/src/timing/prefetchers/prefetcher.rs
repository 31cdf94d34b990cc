//! What a prefetcher is told, and what it says.
//!
//! Each core has one, at its L2: it is told of every reference that missed its L1, in order, with
//! what the caches have done for it, and may name one line. The engine has that line brought to the
//! L2 if it is on the same page, and if neither the L2 nor an L1 above holds it.

use corehop_traces::Kind;

/// A reference that missed its L1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub kind: Kind,
    /// The line's number: its address divided by 64.
    pub line: u64,
    /// The low half of the address of the instruction that made it, for a load or store.
    pub instruction: u32,
    /// Whether it is the first to use the line in the L2, which missed it too or was given it by a
    /// prefetch.
    pub is_first_use: bool,
}

/// One core's prefetcher.
pub(crate) trait Prefetcher: Default {
    /// Whether it ever asks for a line.
    const ASKS: bool = true;

    /// The number of the line to bring, if any.
    fn missed_l1(&mut self, miss: &Miss) -> Option<u64>;
}
