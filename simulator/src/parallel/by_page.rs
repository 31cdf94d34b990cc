//! What pages reference of the L2s and miss there, counted while their lines are simulated.
//!
//! Whoever wants totals only watches nothing, which costs nothing.

use super::set_partition::SetPartition;
use crate::colours::PAGE_LINES;
use crate::ids::{CoreId, LineId};
use crate::report::observer::{CacheLevel, Cause, Observer};
use corehop_traces::Kind;
use std::collections::BTreeMap;

/// What happens in one set partition.
pub(crate) trait Watch: Observer + Default + Send {
    /// What came up to here does not count.
    fn start_counting(&mut self);
}

impl Watch for () {
    fn start_counting(&mut self) {}
}

/// What a page references of the L2s, and what of it they miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageUse {
    /// The page's number: an address divided by [`crate::PAGE_BYTES`].
    pub page: u64,
    /// Accesses of its lines that an L1 missed.
    pub l2_accesses: u64,
    /// Those that the L2 missed, too.
    pub l2_misses: u64,
}

/// Accesses of the L2s and their misses, by line.
#[derive(Default)]
pub(crate) struct ByLine(Vec<[u64; 2]>);

impl Observer for ByLine {
    fn missed(&mut self, level: CacheLevel, _: CoreId, _: Kind, _: Cause, line: LineId) {
        let place = match level {
            CacheLevel::L1I | CacheLevel::L1D => 0,
            CacheLevel::L2 => 1,
            CacheLevel::L3 => return,
        };
        if line.index() >= self.0.len() {
            self.0.resize(line.index() + 1, [0; 2]);
        }
        self.0[line.index()][place] += 1;
    }
}

impl Watch for ByLine {
    fn start_counting(&mut self) {
        self.0.fill([0; 2]);
    }
}

/// The pages of all lines of these set partitions, ascending; those too of which nothing counts.
pub(crate) fn pages<'a>(
    set_partitions: impl ExactSizeIterator<Item = (&'a SetPartition, &'a ByLine)>,
) -> Vec<PageUse> {
    let page_lines = PAGE_LINES / set_partitions.len() as u64;
    let mut pages: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for (set_partition, ByLine(counts)) in set_partitions {
        for (line, quotient) in set_partition.lines.numbers().iter().enumerate() {
            let sums = pages.entry(quotient / page_lines).or_default();
            let counts = counts.get(line).copied().unwrap_or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, of)| *sum += of);
        }
    }
    let of_page = |(page, [l2_accesses, l2_misses]): (u64, [u64; 2])| PageUse {
        page,
        l2_accesses,
        l2_misses,
    };
    pages.into_iter().map(of_page).collect()
}
