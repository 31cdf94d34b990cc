//! What is told of a replay with a pollute buffer, and of the same without.

use corehop_lab::pollution::{Colours, Judge, PageUse, PolluteBuffer, Tried};
use corehop_simulator::{Machine, Replay};
use std::path::Path;

/// Both replays.
pub struct Summary<'a> {
    pub trace: &'a Path,
    /// Of how the trace was taken.
    pub remarks: Vec<String>,
    pub machine: &'a Machine,
    /// Where threads ran in both: `plan`, or the baseline's name.
    pub placement: String,
    pub warm_up: usize,
    /// Instructions executed in what counts.
    pub instructions: u64,
    /// With nothing confined.
    pub before: Side,
    /// With the pages of the buffer confined.
    pub after: Side,
    pub buffer: PolluteBuffer,
    /// Where the pages were searched for.
    pub search: Option<SearchTold>,
}

/// A replay, and what every page did in it.
pub struct Side {
    pub replay: Replay,
    pub pages: Vec<PageUse>,
}

/// What a search tried.
pub struct SearchTold {
    pub judge: Judge,
    pub step: usize,
    pub tried: Vec<Tried>,
}

/// Accesses of the L2s, and their misses.
#[derive(Clone, Copy, Default)]
pub struct L2Use {
    pub accesses: u64,
    pub misses: u64,
}

/// Pages whose miss rates are alike.
#[derive(Clone, Copy, Default)]
pub struct Bin {
    pub pages: u64,
    pub l2: L2Use,
}

/// How many bins all miss rates fall into.
pub const BINS: usize = 10;

impl L2Use {
    fn add(&mut self, page: &PageUse) {
        self.accesses += page.l2_accesses;
        self.misses += page.l2_misses;
    }
}

impl Side {
    /// What the pages in the buffer did.
    pub fn confined(&self, buffer: &PolluteBuffer) -> L2Use {
        let mut sum = L2Use::default();
        let pages = self.pages.iter().filter(|of| buffer.confines(of.page));
        pages.for_each(|page| sum.add(page));
        sum
    }

    /// Misses of the L2s in a thousand instructions; none without instructions.
    pub fn l2_mpki(&self, instructions: u64) -> Option<f64> {
        let misses = self.replay.counters.l2.misses() as f64;
        (instructions > 0).then(|| misses * 1e3 / instructions as f64)
    }

    /// Pages that reference an L2, by miss rate: from 0 on below a tenth, and so on; all of them
    /// missed falls into the last.
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

    /// Pages that reference an L2 in what counts.
    pub fn referenced(&self) -> impl Iterator<Item = &PageUse> {
        self.pages.iter().filter(|page| page.l2_accesses > 0)
    }
}

impl Summary<'_> {
    pub fn colours(&self) -> Colours {
        self.buffer.colours()
    }
}
