//! The counts of TLBs and page walks.
//!
//! [`TlbCounters`] is plain sums, like [`super::counters::Counters`].

use super::observer::Translated;
use corehop_traces::Kind;
use std::iter::Sum;
use std::ops::AddAssign;

/// Translations of one core or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TlbCounters {
    /// Translations of fetches.
    pub fetch: TlbUseCounters,
    /// Translations of loads and stores.
    pub data: TlbUseCounters,
    /// Number of page-table entries that walks read.
    pub walk_loads: u64,
    /// Walk loads that missed the L1D; zero if walks do not begin there.
    pub walk_l1d_misses: u64,
    /// Walk loads that missed the L2.
    pub walk_l2_misses: u64,
    /// Walk loads that missed the L3.
    pub walk_l3_misses: u64,
}

/// Translations of fetches, or of loads and stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TlbUseCounters {
    /// Number of pages looked up in the first-level TLBs.
    pub lookups: u64,
    /// Lookups that missed in the first level.
    pub l1_misses: u64,
    /// Lookups that also missed in the second level.
    pub walks: u64,
}

impl TlbCounters {
    /// Returns the misses of the first-level TLBs.
    pub fn l1_misses(&self) -> u64 {
        self.fetch.l1_misses + self.data.l1_misses
    }

    /// Returns the misses of the second-level TLBs; each causes a page walk.
    pub fn walks(&self) -> u64 {
        self.fetch.walks + self.data.walks
    }

    /// Counts one translation.
    #[inline]
    pub fn count(&mut self, kind: Kind, translated: &Translated) {
        let of_use = match kind {
            Kind::Fetch => &mut self.fetch,
            Kind::Load | Kind::Store => &mut self.data,
        };
        of_use.lookups += 1;
        of_use.l1_misses += u64::from(translated.missed_l1);
        of_use.walks += u64::from(translated.walk_loads > 0);
        self.walk_loads += translated.walk_loads;
        let [l1d, l2, l3] = translated.walk_misses;
        self.walk_l1d_misses += l1d;
        self.walk_l2_misses += l2;
        self.walk_l3_misses += l3;
    }
}

impl AddAssign for TlbUseCounters {
    fn add_assign(&mut self, other: TlbUseCounters) {
        self.lookups += other.lookups;
        self.l1_misses += other.l1_misses;
        self.walks += other.walks;
    }
}

impl AddAssign for TlbCounters {
    fn add_assign(&mut self, other: TlbCounters) {
        self.fetch += other.fetch;
        self.data += other.data;
        self.walk_loads += other.walk_loads;
        self.walk_l1d_misses += other.walk_l1d_misses;
        self.walk_l2_misses += other.walk_l2_misses;
        self.walk_l3_misses += other.walk_l3_misses;
    }
}

impl Sum for TlbCounters {
    fn sum<I: Iterator<Item = TlbCounters>>(all: I) -> TlbCounters {
        all.fold(TlbCounters::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}
