//! The cache hierarchy: all caches of a machine, for the lines of one set partition.
//!
//! The caller numbers the lines of a stream densely, registers them here, and then passes each
//! reference with its core; [`HierarchyState`] implements the effects. Clones share the description
//! of the caches, which never changes, so a clone copies only the cache contents.

pub(crate) mod cache;
pub(crate) mod geometry;
mod line;
pub(crate) mod lines;
pub(crate) mod page_map;
pub(crate) mod policy;
pub(crate) mod state;

use crate::ids::{CoreId, LineId};
use crate::report::observer::Observer;
use crate::report::tally::Tally;
use corehop_traces::Kind;
use geometry::Geometry;
use policy::EMPTY;
use state::HierarchyState;
pub use state::prefetch::Insertion;
use std::sync::Arc;

/// The caches of the used cores, with their contents and counts.
///
/// A clone continues independently, which saves numbering the same lines again.
#[derive(Clone)]
pub struct Hierarchy {
    geometry: Arc<Geometry>,
    state: HierarchyState,
}

impl Hierarchy {
    /// Creates empty caches without lines.
    pub fn new(geometry: &Geometry) -> Hierarchy {
        Hierarchy {
            state: HierarchyState::new(geometry),
            geometry: Arc::new(geometry.clone()),
        }
    }

    /// Registers the line whose number divided by the number of set partitions is `quotient`, and
    /// returns its id, which counts from 0. Registering a line twice creates two lines.
    ///
    /// # Panics
    /// On the 2^32nd line.
    pub fn line(&mut self, quotient: u64) -> LineId {
        let id = LineId(self.state.lines() as u32);
        assert!(id < EMPTY, "a hierarchy numbers its lines in 32 bits");
        self.state.add_line(&self.geometry, quotient);
        id
    }

    /// Registers several lines, like [`Hierarchy::line`].
    ///
    /// # Panics
    /// Like [`Hierarchy::line`].
    pub fn register(&mut self, quotients: &[u64]) {
        self.state.reserve(&self.geometry, quotients.len());
        for &quotient in quotients {
            self.line(quotient);
        }
    }

    /// References `line` on `core`. `docs/reference/model.md` describes the effects; `observer`
    /// receives them.
    ///
    /// # Panics
    /// If `core` is not one of the used cores, or `line` was not registered.
    #[inline(always)]
    pub fn access<O: Observer>(
        &mut self,
        core: CoreId,
        kind: Kind,
        line: LineId,
        observer: &mut O,
    ) {
        let view = &self.geometry.core_views[core.index()];
        let at = (&*self.geometry, view);
        self.state.access(at, kind, line, observer);
    }

    /// Prefetches `line` into the L2 of `core`, unless that L2 or an L1 above it holds the line.
    /// Returns whether it was brought in. The line is brought in like a load that misses its L1,
    /// but fills no L1, and is not counted. The insertion says how soon the L2 replaces it.
    /// `observer` receives misses beyond the L1, a transfer, and replacements.
    ///
    /// # Panics
    /// Like [`Hierarchy::access`].
    pub fn prefetch<O: Observer>(
        &mut self,
        core: CoreId,
        prefetched: (LineId, Insertion),
        observer: &mut O,
    ) -> bool {
        let view = &self.geometry.core_views[core.index()];
        let at = (&*self.geometry, view);
        self.state.prefetch(at, prefetched, observer)
    }

    /// Reads `line` for a page walk of `core` through the L2. It behaves like a load that misses
    /// its L1, but does not access or fill an L1.
    ///
    /// # Panics
    /// Like [`Hierarchy::access`].
    pub fn load_from_l2<O: Observer>(&mut self, core: CoreId, line: LineId, observer: &mut O) {
        let view = &self.geometry.core_views[core.index()];
        let at = (&*self.geometry, view);
        self.state.load_from_l2(at, line, observer);
    }

    /// Models a store to `line` by a core that is not simulated: every cluster, and an exclusive
    /// L3, loses it.
    ///
    /// # Panics
    /// If `line` was not registered.
    pub fn store_elsewhere(&mut self, line: LineId) {
        self.state.store_elsewhere(&self.geometry, line);
    }

    /// Returns both parts, for callers that make many references at once.
    pub(crate) fn parts(&mut self) -> (&Geometry, &mut HierarchyState) {
        (&self.geometry, &mut self.state)
    }

    /// Resets the counts; the cache contents do not change.
    pub fn start_counting(&mut self) {
        self.state.start_counting();
    }

    /// Returns the counts of each core.
    pub fn tally(&self) -> &[Tally] {
        self.state.tally()
    }
}
