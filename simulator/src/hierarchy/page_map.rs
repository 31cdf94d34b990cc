//! The L2 sets of the lines of a page, if they differ from those of its address.
//!
//! The lines of a page map to 64 consecutive sets. The placement of pages in physical memory
//! determines these sets, so an experiment can give each page the sets of another. Only the L2s use
//! the map: L1s and the L3 place lines by address. A map is evaluated once for each line, when it
//! is registered.

use std::fmt;
use std::sync::Arc;

/// Bytes in a page.
pub const PAGE_BYTES: u64 = 4096;

/// Lines in a page.
pub(crate) const PAGE_LINES: u64 = PAGE_BYTES / 64;

/// Maps each page to the page whose L2 sets it uses. Pages are addresses divided by [`PAGE_BYTES`].
#[derive(Clone)]
pub struct PageMap(Arc<dyn Fn(u64) -> u64 + Send + Sync>);

impl PageMap {
    /// Creates a map from a function of the page.
    pub fn new(page: impl Fn(u64) -> u64 + Send + Sync + 'static) -> PageMap {
        PageMap(Arc::new(page))
    }

    /// Creates a map to random sets, as of pages anywhere in physical memory: of page
    /// `m(page + m(seed))`, where m(n) is the output of SplitMix64 in state n.
    pub fn random(seed: u64) -> PageMap {
        PageMap::new(move |page| mixed(page.wrapping_add(mixed(seed))))
    }

    /// Returns the line whose L2 sets a line uses. Both are lines of a set partition, which has
    /// `page_lines` lines of each page.
    pub(crate) fn line(&self, quotient: u64, page_lines: u64) -> u64 {
        let page = (self.0)(quotient / page_lines);
        page.wrapping_mul(page_lines) + quotient % page_lines
    }
}

/// The output of SplitMix64 in this state (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl fmt::Debug for PageMap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("PageMap")
    }
}
