//! `next-line` and `next-line-mid`: prefetch the line after one that is used for the first time.
//!
//! Programs and data are accessed sequentially, so a referenced line predicts the next one (Smith,
//! "Sequential program prefetching in memory hierarchies", Computer 11(12), 1978). Prefetching only
//! at misses is half as good, because a prefetched line does not miss and triggers no further
//! prefetch. The first use of a prefetched line therefore also triggers one: tagged prefetching.
//! Smith found it as good as prefetching at every reference ("Cache memories", Computing Surveys
//! 14(3), 1982). Intel's L1D has one for loads (DCU prefetcher). Its L2 has one for the other half
//! of 128 bytes, and a streamer further ahead (64 and IA-32 architectures optimization reference
//! manual, *Data prefetching*).
//!
//! A prefetched line may replace one that is needed. With `next-line-mid` half of its set is
//! replaced before it, until it is used (Srinath et al., "Feedback directed prefetching: improving
//! the performance and bandwidth-efficiency of hardware prefetchers", HPCA 2007, insertion MID).

use super::prefetcher::{Miss, Prefetcher};

#[derive(Default)]
pub(crate) struct NextLine;

impl Prefetcher for NextLine {
    fn missed_l1(&mut self, miss: &Miss) -> Option<u64> {
        miss.is_first_use.then(|| miss.line + 1)
    }
}
