//! Prefetches: an L2 gets a line that no access of its cores has requested yet.
//!
//! The line takes the path of a load that misses its L1, but L1s and tallies do not change: a
//! prefetch is not an access, and not a miss of any level.

use super::super::geometry::{CoreView, Geometry};
use super::{Access, HierarchyState};
use crate::ids::LineId;
use crate::report::observer::Observer;
use corehop_traces::Kind;

/// Where in a set's order of replacement a prefetched line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// It is replaced last, as a line that an access brings.
    Newest,
    /// Half of the set's lines are replaced before it, until an access uses it. Only LRU does so.
    Middle,
}

impl HierarchyState {
    /// Implements [`crate::Hierarchy::prefetch`] for the core of `view`.
    pub fn prefetch<O: Observer>(
        &mut self,
        (geometry, view): (&Geometry, &CoreView),
        (line, insertion): (LineId, Insertion),
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
        if insertion == Insertion::Middle {
            let set = self.l2_set(line, &view.l2);
            self.ways.age_newest_by_half(&view.l2, set);
        }
        true
    }
}
