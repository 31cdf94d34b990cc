//! The totals of a replay.

use super::counters::Counters;
use super::tlb_counters::TlbCounters;

/// What a replay counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// All cores together. Cycles include hops.
    pub counters: Counters,
    /// Each core used, from 0. Cycles include the hops that ended on that core.
    pub per_core: Vec<Counters>,
    /// Times a thread moved to another core.
    pub hops: u64,
    /// Lines referenced by fetches, loads, and stores, and by page walks that begin at an L1D.
    pub accesses: u64,
    /// Requests counted: those chosen, without those that warm up.
    pub requests: u64,
    /// Translations by core; empty where the options asked for none.
    pub tlbs: Vec<TlbCounters>,
}
