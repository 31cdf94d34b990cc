//! The cache hierarchy: all caches of a machine, for the lines of one set partition.
//!
//! The caller numbers the lines of a stream densely, registers them here, and then says which core
//! references which line; [`HierarchyState`] has what happens. The description of the caches never
//! changes and is shared by copies, so that a copy costs what the caches hold.

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
use std::sync::Arc;

/// The caches of the cores used, with what they hold and what they counted.
///
/// A copy goes on independently, which saves numbering the same lines again.
#[derive(Clone)]
pub struct Hierarchy {
    geometry: Arc<Geometry>,
    state: HierarchyState,
}

impl Hierarchy {
    /// Empty caches, no lines.
    pub fn new(geometry: &Geometry) -> Hierarchy {
        Hierarchy {
            state: HierarchyState::new(geometry),
            geometry: Arc::new(geometry.clone()),
        }
    }

    /// Registers the line whose number divided by the number of set partitions is `quotient`; gives
    /// its id, which counts from 0. Registering a line twice makes two lines of it.
    ///
    /// # Panics
    /// On the 2^32nd line.
    pub fn line(&mut self, quotient: u64) -> LineId {
        let id = LineId(self.state.lines() as u32);
        assert!(id < EMPTY, "a hierarchy numbers its lines in 32 bits");
        self.state.add_line(&self.geometry, quotient);
        id
    }

    /// Registers several lines, as [`Hierarchy::line`] does one.
    ///
    /// # Panics
    /// As [`Hierarchy::line`].
    pub fn register(&mut self, quotients: &[u64]) {
        self.state.reserve(&self.geometry, quotients.len());
        for &quotient in quotients {
            self.line(quotient);
        }
    }

    /// `core` references `line`. `docs/reference/model.md` says what happens; `observer` is told of
    /// it.
    ///
    /// # Panics
    /// When `core` is not one of the cores used, or `line` was not registered.
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

    /// Brings `line` to the L2 of `core`, unless that L2 or an L1 above it holds the line; gives
    /// whether it does. It comes as for a load that misses its L1, but fills no L1, and nothing of
    /// it is counted. `observer` is told of misses beyond the L1, of a transfer, and of what is
    /// replaced.
    ///
    /// # Panics
    /// As [`Hierarchy::access`].
    pub fn prefetch<O: Observer>(&mut self, core: CoreId, line: LineId, observer: &mut O) -> bool {
        let view = &self.geometry.core_views[core.index()];
        let at = (&*self.geometry, view);
        self.state.prefetch(at, line, observer)
    }

    /// A page walk of `core` reads `line` by the L2, as a load does that misses its L1, but no L1
    /// is asked for it or gets it.
    ///
    /// # Panics
    /// As [`Hierarchy::access`].
    pub fn load_from_l2<O: Observer>(&mut self, core: CoreId, line: LineId, observer: &mut O) {
        let view = &self.geometry.core_views[core.index()];
        let at = (&*self.geometry, view);
        self.state.load_from_l2(at, line, observer);
    }

    /// A core that is not simulated stores to `line`: every cluster, and an exclusive L3, loses it.
    ///
    /// # Panics
    /// When `line` was not registered.
    pub fn store_elsewhere(&mut self, line: LineId) {
        self.state.store_elsewhere(&self.geometry, line);
    }

    /// Both halves, for whoever makes many references at once.
    pub(crate) fn parts(&mut self) -> (&Geometry, &mut HierarchyState) {
        (&self.geometry, &mut self.state)
    }

    /// Starts counting afresh; the caches stay as they are.
    pub fn start_counting(&mut self) {
        self.state.start_counting();
    }

    /// What was counted, by core.
    pub fn tally(&self) -> &[Tally] {
        self.state.tally()
    }
}
