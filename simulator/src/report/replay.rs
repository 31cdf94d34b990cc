//! The totals of a replay.

use super::counters::Counters;
use super::tlb_counters::TlbCounters;

/// The counts of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Sums over all cores. Cycles include hops.
    pub counters: Counters,
    /// Counters of each used core, from 0. Cycles include the hops that ended on that core.
    pub per_core: Vec<Counters>,
    /// Number of times a thread moved to another core.
    pub hops: u64,
    /// Number of lines referenced by fetches, loads and stores, and by page walks that begin at an
    /// L1D.
    pub accesses: u64,
    /// Number of counted requests: the selected ones without the warm-up.
    pub requests: u64,
    /// Translations of each core; empty without address translation.
    pub tlbs: Vec<TlbCounters>,
}
