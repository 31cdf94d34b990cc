//! `next-line`: the line after the one that is used for the first time.
//!
//! Programs and data are walked forwards, so whoever needs a line soon needs the next one (Smith,
//! "Sequential program prefetching in memory hierarchies", Computer 11(12), 1978). To prefetch at
//! misses alone is half of it, since the line that a prefetch brought misses no more and nobody
//! asks for the one behind it. So a prefetched line that is used for the first time asks as well:
//! tagged prefetching, which Smith found as good as asking at every reference ("Cache memories",
//! Computing Surveys 14(3), 1982). Intel's L1D has one for loads (DCU prefetcher), and its L2 one
//! for the other half of 128 bytes, and a streamer further ahead (64 and IA-32 architectures
//! optimization reference manual, *Data prefetching*).

use super::prefetcher::{Miss, Prefetcher};

#[derive(Default)]
pub(crate) struct NextLine;

impl Prefetcher for NextLine {
    fn missed_l1(&mut self, miss: &Miss) -> Option<u64> {
        miss.is_first_use.then(|| miss.line + 1)
    }
}
