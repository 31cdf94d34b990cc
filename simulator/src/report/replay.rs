//! The totals of a replay.

use super::counters::Counters;

/// What a replay counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// All cores together. Cycles include hops.
    pub counters: Counters,
    /// Each core used, from 0. Cycles include the hops that ended on that core.
    pub per_core: Vec<Counters>,
    /// Times a thread moved to another core.
    pub hops: u64,
    /// Lines referenced by fetches, loads and stores.
    pub accesses: u64,
    /// Requests counted: those chosen, without those that warm up.
    pub requests: u64,
}
