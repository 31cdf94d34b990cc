//! What happens in a hierarchy, for those who want more than sums.
//!
//! [`Observer`] is called at every access, miss, transfer, replacement and invalidation. It is a
//! type parameter of [`crate::Hierarchy::access`], so that a replay that observes nothing pays
//! nothing.

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
    /// It never did.
    Cold = 0,
    /// It last lost the line to make room for another: for want of room or of ways.
    Capacity = 1,
    /// A store elsewhere last removed it. In an exclusive L3 also: it went up when it was served.
    Coherence = 2,
    /// An inclusive outer level lost the line, and took it from this cache as well.
    Inclusion = 3,
}

impl Cause {
    /// The cause kept as `code`.
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
    /// No TLB of the first level held the page.
    pub missed_l1: bool,
    /// Entries of page tables that a page walk read; 0 if a TLB of the second level held the page.
    pub walk_loads: u64,
    /// Those of them that the L1D, the L2 and the L3 missed.
    pub walk_misses: [u64; 3],
}

/// Told of what happens in a [`crate::Hierarchy`]; each method does nothing unless implemented.
/// Lines are the ids that the hierarchy gave them.
pub trait Observer {
    /// A thread on `core` is about to make this access. [`Observer::accessed`] follows for each of
    /// its lines, in ascending order. Only a [`crate::Replayer`] knows accesses; a hierarchy knows
    /// lines.
    fn makes(&mut self, core: CoreId, access: &Access) {
        let _ = (core, access);
    }

    /// `core` is about to reference `line`: comes before whatever this access makes happen.
    fn accessed(&mut self, core: CoreId, kind: Kind, line: LineId) {
        let _ = (core, kind, line);
    }

    /// A page walk of `core` is about to read `line` by its L2, and no L1: comes before whatever
    /// this makes happen. Walks that begin at the L1D are reported as loads.
    fn loads_from_l2(&mut self, core: CoreId, line: LineId) {
        let _ = (core, line);
    }

    /// An address of the access at hand was translated on `core`: comes after the references of
    /// the page walk, if there was one, and before that of the line.
    fn translated(&mut self, core: CoreId, kind: Kind, translated: &Translated) {
        let _ = (core, kind, translated);
    }

    /// `core` did not find `line` at `level`, because of `cause`.
    fn missed(&mut self, level: CacheLevel, core: CoreId, kind: Kind, cause: Cause, line: LineId) {
        let _ = (level, core, kind, cause, line);
    }

    /// What `core` missed everywhere was served by caches above another L2.
    fn transferred(&mut self, core: CoreId, kind: Kind, line: LineId) {
        let _ = (core, kind, line);
    }

    /// What the L3 holds of `line` is old: caches above another L2 served `core`.
    fn hit_modified(&mut self, core: CoreId, kind: Kind, line: LineId) {
        let _ = (core, kind, line);
    }

    /// An access of `core` made instance `instance` of `level` give up `line` for want of room.
    fn replaced(&mut self, level: CacheLevel, instance: usize, core: CoreId, line: LineId) {
        let _ = (level, instance, core, line);
    }

    /// A store of `core` took `line` from another cluster: the L2 instance `cluster` and the L1s
    /// above it, of which at least one held it.
    fn invalidated(&mut self, cluster: usize, core: CoreId, line: LineId) {
        let _ = (cluster, core, line);
    }
}

/// Observes nothing.
impl Observer for () {}
