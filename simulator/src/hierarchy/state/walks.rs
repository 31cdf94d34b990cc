//! Page walks that begin at the L2: it is read as after an L1D miss; the L1D does not change.

use super::super::geometry::{CoreView, Geometry};
use super::{Access, HierarchyState};
use crate::ids::LineId;
use crate::report::observer::Observer;
use corehop_traces::Kind;

impl HierarchyState {
    /// Implements [`crate::Hierarchy::load_from_l2`] for the core of `view`.
    pub fn load_from_l2<O: Observer>(
        &mut self,
        (geometry, view): (&Geometry, &CoreView),
        line: LineId,
        observer: &mut O,
    ) {
        observer.loads_from_l2(view.core, line);
        self.tallies[view.core.index()].l2_loads += 1;
        match self.way(geometry, line, &view.l2) {
            Some(way) => self.ways.hit(&view.l2, self.l2_set(line, &view.l2), way),
            None => {
                let access = Access {
                    geometry,
                    view,
                    kind: Kind::Load,
                    line,
                    counts: true,
                };
                self.miss_l2(access, observer);
            }
        }
        self.share(geometry, view, line);
        self.lines[line.index()].holders |= 1 << view.cluster;
    }
}
