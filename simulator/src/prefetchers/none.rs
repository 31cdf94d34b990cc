//! `none`: no prefetches.

use super::prefetcher::{Miss, Prefetcher};

#[derive(Default)]
pub(crate) struct NoPrefetcher;

impl Prefetcher for NoPrefetcher {
    const ASKS: bool = false;

    fn missed_l1(&mut self, _miss: &Miss) -> Option<u64> {
        None
    }
}
