//! How caches lose lines: to stores of other cores, and to evictions from an inclusive outer level.

use super::super::cache::Cache;
use super::super::geometry::Geometry;
use super::super::line::ones;
use super::{Access, HierarchyState};
use crate::ids::LineId;
use crate::machine::Inclusion;
use crate::report::observer::{Cause, Observer};

impl HierarchyState {
    /// Makes the core the owner of the line that it stored to, which is in its L1D.
    #[inline(never)]
    pub(super) fn take<O: Observer>(&mut self, access: Access<'_>, observer: &mut O) {
        let Access {
            geometry,
            view,
            line,
            ..
        } = access;
        for cluster in ones(self.lines[line.index()].holders & !(1 << view.cluster)) {
            self.take_from_cluster(geometry, cluster, line, Cause::Coherence);
            self.tallies[geometry.clusters[cluster].first_core.index()].invalidated_lines += 1;
            observer.invalidated(cluster, view.core, line);
        }
        for l1 in &geometry.clusters[view.cluster].l1s {
            if view.l1.iter().all(|own| own.index != l1.index) {
                self.remove(geometry, l1, self.set(line, l1), line, Cause::Coherence);
            }
        }
        self.take_from_exclusive_l3(geometry, line);
        self.rows[geometry.owner(line)] = view.core.0 as u8;
    }

    pub(super) fn take_from_exclusive_l3(&mut self, geometry: &Geometry, line: LineId) {
        if let (Some(l3), Inclusion::Exclusive) = (&geometry.l3, geometry.l3_inclusion) {
            self.remove(geometry, l3, self.l3_set(line), line, Cause::Coherence);
        }
    }

    /// Removes `line` from the L2 and L1s of `cluster` that hold it.
    pub(super) fn take_from_cluster(
        &mut self,
        geometry: &Geometry,
        cluster: usize,
        line: LineId,
        cause: Cause,
    ) {
        self.lines[line.index()].holders &= !(1 << cluster);
        let l2 = &geometry.clusters[cluster].l2;
        self.remove(geometry, l2, self.l2_set(line, l2), line, cause);
        self.take_from_l1s(geometry, cluster, line, cause);
    }

    /// Removes `line` from the L1s of `cluster` that hold it.
    #[inline(always)]
    pub(super) fn take_from_l1s(
        &mut self,
        geometry: &Geometry,
        cluster: usize,
        line: LineId,
        cause: Cause,
    ) {
        for l1 in &geometry.clusters[cluster].l1s {
            self.remove(geometry, l1, self.set(line, l1), line, cause);
        }
    }

    /// Updates the holders after `line` left a cache of `cluster`: the cluster remains a holder if
    /// another of its caches holds the line.
    pub(super) fn forget_holder(&mut self, geometry: &Geometry, cluster: usize, line: LineId) {
        let of_cluster = &geometry.clusters[cluster];
        let mut caches = of_cluster.l1s.iter().chain([&of_cluster.l2]);
        if caches.all(|cache| self.way(geometry, line, cache).is_none()) {
            self.lines[line.index()].holders &= !(1 << cluster);
        }
    }

    /// Removes `line` from its `set` of `cache`, if it is there.
    #[inline(always)]
    pub(super) fn remove(
        &mut self,
        geometry: &Geometry,
        cache: &Cache,
        set: usize,
        line: LineId,
        cause: Cause,
    ) {
        if let Some(way) = self.way(geometry, line, cache) {
            self.ways.remove(cache, set, way);
            self.rows[geometry.place(line, cache)] = cause as u8;
        }
    }
}
