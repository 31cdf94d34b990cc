//! The events in a hierarchy, for callers that need more than sums.
//!
//! [`Observer`] is called at every access, miss, transfer, replacement and invalidation. It is a
//! type parameter of [`crate::Hierarchy::access`], so a replay without an observer has no overhead.

use crate::ids::{CoreId, LineId};
use corehop_traces::{Access, Kind};

/// A level of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheLevel {
    /// Instruction caches.
    L1I,
    /// Data caches.
    L1D,
    /// Second level.
    L2,
    /// Third level.
    L3,
}

/// Why a cache does not hold a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// It never held the line.
    Cold = 0,
    /// It replaced the line for lack of capacity or of ways.
    Capacity = 1,
    /// A store elsewhere removed it. In an exclusive L3 also: it moved up when it was served.
    Coherence = 2,
    /// An inclusive outer level evicted the line and invalidated this copy.
    Inclusion = 3,
}

impl Cause {
    /// Returns the cause encoded as `code`.
    pub(crate) fn of(code: u8) -> Cause {
        match code {
            0 => Cause::Cold,
            1 => Cause::Capacity,
            2 => Cause::Coherence,
            _ => Cause::Inclusion,
        }
    }
}

/// How an address was translated; see [`Observer::translated`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// Whether all first-level TLBs missed the page.
    pub missed_l1: bool,
    /// Number of page-table entries that a page walk read; 0 if a second-level TLB held the page.
    pub walk_loads: u64,
    /// Those entries that missed in the L1D, the L2 and the L3.
    pub walk_misses: [u64; 3],
}

/// Receives the events in a [`crate::Hierarchy`]; each method does nothing by default. Lines are
/// the ids that the hierarchy assigned.
pub trait Observer {
    /// Called before a thread on `core` makes this access. [`Observer::accessed`] follows for each
    /// of its lines, in ascending order. Only a [`crate::Replayer`] reports accesses; a hierarchy
    /// only has lines.
    fn makes(&mut self, core: CoreId, access: &Access) {
        let _ = (core, access);
    }

    /// Called instead of [`Observer::makes`] and [`Observer::accessed`] when a thread on `core`
    /// makes this access, which is of one line and changes no cache, because it repeats the one
    /// before. By default, it calls both.
    #[inline]
    fn repeats(&mut self, core: CoreId, access: &Access, line: LineId) {
        self.makes(core, access);
        self.accessed(core, access.kind, line);
    }

    /// Called before `core` references `line` and before all effects of this access.
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        let _ = (core, kind, line);
    }

    /// Called before a page walk of `core` reads `line` through its L2, bypassing the L1s, and
    /// before all effects of this read. Walks that begin at the L1D are reported as loads.
    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        let _ = (core, line);
    }

    /// Called before a page walk of `core` for the next line of the current access. The walk's
    /// references follow, then [`Observer::translated`].
    fn walks(&mut self, core: CoreId) {
        let _ = core;
    }

    /// Called when an address of the current access was translated on `core`: after the references
    /// of the page walk, if any, and before that of the line.
    fn translated(&mut self, core: CoreId, kind: Kind, translated: &Translated) {
        let _ = (core, kind, translated);
    }

    /// Called when `core` missed `line` at `level`, with the cause.
    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        let _ = (level, core, kind, cause, line);
    }

    /// Called when caches above another L2 served a line that `core` missed everywhere.
    fn transferred(&mut self, core: CoreId, kind: Kind, line: LineId) {
        let _ = (core, kind, line);
    }

    /// Called when the L3 copy of `line` is stale and caches above another L2 served `core`.
    fn hit_modified(&mut self, core: CoreId, kind: Kind, line: LineId) {
        let _ = (core, kind, line);
    }

    /// Called when an access of `core` made instance `instance` of `level` evict `line` for lack of
    /// space.
    fn replaced(&mut self, level: CacheLevel, instance: usize, core: CoreId, line: LineId) {
        let _ = (level, instance, core, line);
    }

    /// Called when a store of `core` invalidated `line` in another cluster: the L2 instance
    /// `cluster` and the L1s above it, at least one of which held it.
    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        let _ = (cluster, core, line);
    }
}

/// Observes nothing.
impl Observer for () {}
