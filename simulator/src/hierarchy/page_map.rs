//! In which sets of the L2s the lines of a page are, if not in those that its address says.
//!
//! The lines of a page are 64 sets in a row. Whoever chooses where pages are in physical memory
//! chooses these sets, so an experiment may give each page those of another. Only the L2s know of
//! it: L1s and the L3 place lines as ever. A map is asked once a line, when it is registered.

use std::fmt;
use std::sync::Arc;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// Lines of a page.
pub(crate) const PAGE_LINES: u64 = PAGE_BYTES / 64;

/// Says of each page in which page's sets of an L2 it is. Pages are addresses divided by
/// [`PAGE_BYTES`].
#[derive(Clone)]
pub struct PageMap(Arc<dyn Fn(u64) -> u64 + Send + Sync>);

impl PageMap {
    /// Pages are where this says.
    pub fn new(page: impl Fn(u64) -> u64 + Send + Sync + 'static) -> PageMap {
        PageMap(Arc::new(page))
    }

    /// The line in whose sets a line is; both are those of a set partition, which has so many lines
    /// of each page.
    pub(crate) fn line(&self, quotient: u64, page_lines: u64) -> u64 {
        let page = (self.0)(quotient / page_lines);
        page.wrapping_mul(page_lines) + quotient % page_lines
    }
}

impl fmt::Debug for PageMap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("PageMap")
    }
}
