//! Prefetches: an L2 gets a line that no access of its cores has requested yet.
//!
//! The line takes the path of a load that misses its L1, but L1s and tallies do not change: a
//! prefetch is not an access, and not a miss of any level.

use super::super::geometry::{CoreView, Geometry};
use super::{Access, HierarchyState};
use crate::ids::LineId;
use crate::report::observer::Observer;
use corehop_traces::Kind;

impl HierarchyState {
    /// Implements [`crate::Hierarchy::prefetch`] for the core of `view`.
    pub fn prefetch<O: Observer>(
        &mut self,
        (geometry, view): (&Geometry, &CoreView),
        line: LineId,
        observer: &mut O,
    ) -> bool {
        let holds = 1 << view.cluster;
        if self.lines[line.index()].holders & holds != 0 {
            return false;
        }
        let access = Access {
            geometry,
            view,
            kind: Kind::Load,
            line,
            counts: false,
        };
        self.miss_l2(access, observer);
        self.share(geometry, view, line);
        self.lines[line.index()].holders |= holds;
        true
    }
}
