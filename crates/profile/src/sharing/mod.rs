//! Lines of memory that several threads access and at least one stores to, as `perf c2c` lists
//! them.
//!
//! Such a line moves between cores. The list has the cost of each, and whether the threads use each
//! other's bytes (*true sharing*) or only bytes that happen to be on one line (*false sharing*),
//! which padding removes. `collector` counts by line, thread, and instruction; `takes` separates
//! true from false sharing; `taken` finds the heap objects; `rows` makes rows of all after the
//! replay.
//!
//! Loads and stores make rows. Fetches and page walks are counted with the lines that are not
//! shared, so that rows and the rest add up to the replay's counters.

mod collector;
mod rows;
mod taken;
mod takes;

pub(crate) use collector::SharingCollector;
pub(crate) use rows::Naming;
pub use rows::{ObjectOnLine, SharedLine, Sharing, Use, Verdict};

use serde::Serialize;
use std::ops::AddAssign;

/// The cost of accesses to some part of memory between cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharingCost {
    /// Lines accessed by loads.
    pub loads: u64,
    /// Lines accessed by stores.
    pub stores: u64,
    /// Misses of L2s that had lost the line to a store of another core.
    pub coherence_misses: u64,
    /// Accesses that no cache of the core and no L3 served, but one above another L2.
    pub transfers: u64,
    /// Hits of the L3, of lines that another core has modified: HITM in `perf c2c`.
    pub hit_modified: u64,
    /// Times a store took the line from the caches of another core.
    pub invalidated_lines: u64,
    /// Times a thread took the line from another one and used the same bytes.
    pub true_sharing: u64,
    /// Times a thread took the line from another one and used other bytes.
    pub false_sharing: u64,
}

impl SharingCost {
    /// Times the line moved from the caches of one core to another core.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.transfers + self.hit_modified
    }
}

impl AddAssign for SharingCost {
    fn add_assign(&mut self, other: SharingCost) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.coherence_misses += other.coherence_misses;
        self.transfers += other.transfers;
        self.hit_modified += other.hit_modified;
        self.invalidated_lines += other.invalidated_lines;
        self.true_sharing += other.true_sharing;
        self.false_sharing += other.false_sharing;
    }
}
