//! The printed results of replays with and without a pollute buffer.

use corehop_lab::pollution::{Colours, Judge, PageUse, PolluteBuffer, Tried};
use corehop_simulator::{Machine, Replay};
use std::path::Path;

/// Both replays.
pub struct Summary<'a> {
    pub trace: &'a Path,
    /// Remarks on how the trace was recorded.
    pub remarks: Vec<String>,
    pub machine: &'a Machine,
    /// Placement of threads in both replays: `plan`, or the baseline's name.
    pub placement: String,
    pub warm_up: usize,
    /// Number of instructions executed in the counted part.
    pub instructions: u64,
    /// The replay without confined pages.
    pub before: Side,
    /// The replay with the pages of the buffer confined.
    pub after: Side,
    pub buffer: PolluteBuffer,
    /// The search for the pages, if there was one.
    pub search: Option<SearchTold>,
}

/// A replay, and the counts of every page.
pub struct Side {
    pub replay: Replay,
    pub pages: Vec<PageUse>,
}

/// The states that a search tried.
pub struct SearchTold {
    pub judge: Judge,
    pub step: usize,
    pub tried: Vec<Tried>,
}

/// L2 accesses and misses.
#[derive(Clone, Copy, Default)]
pub struct L2Use {
    pub accesses: u64,
    pub misses: u64,
}

/// Pages with similar miss rates.
#[derive(Clone, Copy, Default)]
pub struct Bin {
    pub pages: u64,
    pub l2: L2Use,
}

/// Number of bins for miss rates.
pub const BINS: usize = 10;

impl L2Use {
    fn add(&mut self, page: &PageUse) {
        self.accesses += page.l2_accesses;
        self.misses += page.l2_misses;
    }
}

impl Side {
    /// Returns the counts of the pages in the buffer.
    pub fn confined(&self, buffer: &PolluteBuffer) -> L2Use {
        let mut sum = L2Use::default();
        let pages = self.pages.iter().filter(|of| buffer.confines(of.page));
        pages.for_each(|page| sum.add(page));
        sum
    }

    /// Returns L2 misses per thousand instructions; `None` without instructions.
    pub fn l2_mpki(&self, instructions: u64) -> Option<f64> {
        let misses = self.replay.counters.l2.misses() as f64;
        (instructions > 0).then(|| misses * 1e3 / instructions as f64)
    }

    /// Bins the pages that access an L2 by miss rate, in steps of a tenth; a rate of 1 is in the
    /// last bin.
    pub fn by_miss_rate(&self) -> [Bin; BINS] {
        let mut bins = [Bin::default(); BINS];
        for page in self.referenced() {
            let place = u128::from(page.l2_misses) * BINS as u128 / u128::from(page.l2_accesses);
            let bin = &mut bins[(place as usize).min(BINS - 1)];
            bin.pages += 1;
            bin.l2.add(page);
        }
        bins
    }

    /// Returns the pages that access an L2 in the counted part.
    pub fn referenced(&self) -> impl Iterator<Item = &PageUse> {
        self.pages.iter().filter(|page| page.l2_accesses > 0)
    }
}

impl Summary<'_> {
    pub fn colours(&self) -> Colours {
        self.buffer.colours()
    }
}
