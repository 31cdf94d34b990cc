//! The hierarchy state: the contents of the caches, and the effects of an access.
//!
//! A common simulator searches a set at every level. Here, each line has a row with one byte for
//! each cache. The byte holds the way of that cache that contains the line, or the reason why the
//! cache does not contain it. One load therefore determines whether an access hits, where, and the
//! cause of a miss; a store finds the caches to invalidate. The cost is that the caller numbers
//! lines densely, which is often done already: a stream that is replayed many times is numbered
//! once.
//!
//! A line also has an *owner*: the core that stored last, while no other cache except an inclusive
//! or non-inclusive L3 holds it. This is MESI's modified state. Most stores are by owners and need
//! no further check. A bit of that byte marks ownership in the owner's L1D, so such a store costs
//! no more than a load. When another core of its cluster gets the line, the cluster becomes the
//! owner.
//!
//! [`losses`] implements losses of lines other than by replacement, [`prefetch`] prefetches into an
//! L2, and [`walks`] reads of page walks.

mod losses;
pub(crate) mod prefetch;
mod walks;

use super::cache::{Cache, Ways};
use super::geometry::{CoreView, Geometry};
use super::line::{Line, ones};
use super::policy::EMPTY;
use crate::ids::LineId;
use crate::machine::{CORES_MAXIMUM, Inclusion};
use crate::report::observer::{Cause, Observer};
use crate::report::tally::Tally;
use corehop_traces::Kind;

/// The contents of the caches of a geometry, and the counts. Methods take that geometry.
#[derive(Clone)]
pub(crate) struct HierarchyState {
    ways: Ways,
    lines: Vec<Line>,
    /// For each line, its L2 set, if the set does not follow from the quotient; otherwise empty.
    l2_sets: Vec<u32>,
    /// For each line and cache: [`HELD`] plus the way that contains the line, in the owner's L1D
    /// optionally with [`OWNED`]; otherwise the [`Cause`] of its absence.
    rows: Vec<u8>,
    tallies: Vec<Tally>,
}

/// A reference to a line by a core.
#[derive(Clone, Copy)]
struct Access<'g> {
    geometry: &'g Geometry,
    view: &'g CoreView,
    kind: Kind,
    line: LineId,
    /// False for prefetches, whose misses are not counted.
    counts: bool,
}

/// The smallest byte that means the line is held.
const HELD: u8 = 4;

/// Bit of a byte of an unshared L1D: its core is the line's owner.
const OWNED: u8 = 1 << 7;

/// Owner of a line for which any store must search other caches.
const NOBODY: u8 = u8::MAX;

/// Bit of an owner that is a cluster; the other bits are its number. A store of its cores must also
/// search other caches.
const CLUSTER: u8 = 1 << 6;
const _: () = assert!(CORES_MAXIMUM <= CLUSTER as u32);

impl HierarchyState {
    /// Creates empty caches without lines.
    pub fn new(geometry: &Geometry) -> HierarchyState {
        HierarchyState {
            ways: Ways::new(&geometry.caches),
            lines: Vec::new(),
            l2_sets: Vec::new(),
            rows: Vec::new(),
            tallies: vec![Tally::default(); geometry.core_views.len()],
        }
    }

    /// Returns the number of lines.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Reserves memory for `lines` more lines.
    pub fn reserve(&mut self, geometry: &Geometry, lines: usize) {
        self.lines.reserve(lines);
        self.rows.reserve(lines * geometry.row_bytes);
    }

    /// Adds a line that is not in any cache.
    pub fn add_line(&mut self, geometry: &Geometry, quotient: u64) {
        self.lines.push(Line {
            quotient: quotient as u32,
            l3_set: (quotient % geometry.l3_sets) as u32,
            holders: 0,
        });
        self.l2_sets.extend(geometry.mapped_l2_set(quotient));
        let row = self.rows.len();
        self.rows.resize(row + geometry.row_bytes, 0);
        self.rows[row + geometry.owner(LineId(0))] = NOBODY;
    }

    /// Implements [`crate::Hierarchy::access`] for the core of `view`.
    #[inline(always)]
    pub fn access<O: Observer>(
        &mut self,
        (geometry, view): (&Geometry, &CoreView),
        kind: Kind,
        line: LineId,
        observer: &mut O,
    ) {
        observer.accessed(view.core, kind, line);
        let l1 = view.l1(kind);
        let byte = self.rows[geometry.place(line, l1)];
        // One branch for hit or miss and owned or not; two separate tests would need two branches.
        let enough = match kind {
            Kind::Fetch | Kind::Load => HELD,
            Kind::Store => OWNED,
        };
        if byte < enough {
            return self.access_further((geometry, view), kind, line, observer);
        }
        let way = usize::from((byte & !OWNED) - HELD);
        // A hierarchy often has one set in each L1, which saves computing the set.
        match l1.last_set {
            0 => self.ways.hit(l1, 0, way),
            _ => self.ways.hit(l1, self.set(line, l1), way),
        }
    }

    /// Handles an access if the L1 does not hold the line, or may not own it.
    #[inline(never)]
    fn access_further<O: Observer>(
        &mut self,
        (geometry, view): (&Geometry, &CoreView),
        kind: Kind,
        line: LineId,
        observer: &mut O,
    ) {
        let access = Access {
            geometry,
            view,
            kind,
            line,
            counts: true,
        };
        let l1 = view.l1(kind);
        match self.way(geometry, line, l1) {
            Some(way) => self.ways.hit(l1, self.set(line, l1), way),
            None => self.miss(access, observer),
        }
        if kind == Kind::Store {
            if self.rows[geometry.owner(line)] != view.core.0 as u8 {
                self.take(access, observer);
            }
            if geometry.owners_know {
                self.rows[geometry.place(line, l1)] |= OWNED;
            }
        }
    }

    /// Implements [`crate::Hierarchy::store_elsewhere`].
    pub fn store_elsewhere(&mut self, geometry: &Geometry, line: LineId) {
        let holders = self.lines[line.index()].holders;
        for cluster in ones(holders) {
            self.take_from_cluster(geometry, cluster, line, Cause::Coherence);
            self.tallies[geometry.clusters[cluster].first_core.index()].invalidated_lines += 1;
        }
        self.take_from_exclusive_l3(geometry, line);
        self.disown(geometry, line, NOBODY);
    }

    /// Resets the counts; the cache contents do not change.
    pub fn start_counting(&mut self) {
        self.tallies.fill(Tally::default());
    }

    /// Returns the counts of each core.
    pub fn tally(&self) -> &[Tally] {
        &self.tallies
    }

    /// Returns the way of `cache` that contains `line`, if any.
    #[inline(always)]
    fn way(&self, geometry: &Geometry, line: LineId, cache: &Cache) -> Option<usize> {
        (self.rows[geometry.place(line, cache)] & !OWNED)
            .checked_sub(HELD)
            .map(usize::from)
    }

    /// Returns the set of `line` in `cache`, an L1.
    #[inline(always)]
    fn set(&self, line: LineId, cache: &Cache) -> usize {
        (self.lines[line.index()].quotient & cache.last_set) as usize
    }

    /// Returns the set of `line` in the L2 `cache`.
    #[inline(always)]
    fn l2_set(&self, line: LineId, cache: &Cache) -> usize {
        match self.l2_sets.get(line.index()) {
            Some(&set) => set as usize,
            None => self.set(line, cache),
        }
    }

    #[inline(always)]
    fn l3_set(&self, line: LineId) -> usize {
        self.lines[line.index()].l3_set as usize
    }

    /// Replaces the owner of `line` by `now`; the previous owner must check again before it stores.
    #[inline(always)]
    fn disown(&mut self, geometry: &Geometry, line: LineId, now: u8) {
        let owner = std::mem::replace(&mut self.rows[geometry.owner(line)], now);
        if owner & CLUSTER == 0 {
            let [_, l1d] = &geometry.core_views[usize::from(owner)].l1;
            self.rows[geometry.place(line, l1d)] &= !OWNED;
        }
    }

    /// Gives `line` to the core of `view`; another core may own it.
    #[inline(always)]
    fn share(&mut self, geometry: &Geometry, view: &CoreView, line: LineId) {
        let owner = self.rows[geometry.owner(line)];
        if owner != NOBODY && owner != view.core.0 as u8 {
            let stays = owning_cluster(geometry, owner) == view.cluster;
            let now = if stays {
                CLUSTER | view.cluster as u8
            } else {
                NOBODY
            };
            self.disown(geometry, line, now);
        }
    }

    /// Returns whether another cluster owns `line` and still holds it.
    #[inline(always)]
    fn is_modified_elsewhere(&self, geometry: &Geometry, view: &CoreView, line: LineId) -> bool {
        let owner = self.rows[geometry.owner(line)];
        owner != NOBODY && {
            let cluster = owning_cluster(geometry, owner);
            cluster != view.cluster && self.lines[line.index()].holders >> cluster & 1 == 1
        }
    }

    /// Handles an L1 miss: brings the line into the L1.
    #[inline(always)]
    fn miss<O: Observer>(&mut self, access: Access<'_>, observer: &mut O) {
        let Access {
            geometry,
            view,
            kind,
            line,
            ..
        } = access;
        let l1 = view.l1(kind);
        self.count_miss(access, l1, observer);
        match self.way(geometry, line, &view.l2) {
            Some(way) => self.ways.hit(&view.l2, self.l2_set(line, &view.l2), way),
            None => self.miss_l2(access, observer),
        }
        self.share(geometry, view, line);
        let victim = self.fill(access, l1, self.set(line, l1), line, observer);
        if victim != EMPTY && geometry.l2_inclusion != Inclusion::Inclusive {
            self.forget_holder(geometry, view.cluster, victim);
        }
        self.lines[line.index()].holders |= 1 << view.cluster;
    }

    /// Handles an L2 miss: brings the line into the L2.
    #[inline(always)]
    fn miss_l2<O: Observer>(&mut self, access: Access<'_>, observer: &mut O) {
        let Access {
            geometry,
            view,
            kind,
            line,
            counts,
        } = access;
        let CoreView {
            core, l2, cluster, ..
        } = view;
        self.count_miss(access, l2, observer);
        // An inclusive L3 that replaces a line to make room invalidates no other copy of this one.
        let is_modified = self.is_modified_elsewhere(geometry, view, line);
        if self.look_up_l3(access, observer) {
            if is_modified {
                self.tallies[core.index()].hit_modified[kind as usize] += u64::from(counts);
                observer.hit_modified(*core, kind, line);
            }
        } else {
            let others = self.lines[line.index()].holders & !(1 << cluster);
            if others != 0 {
                self.tallies[core.index()].transfers[kind as usize] += u64::from(counts);
                observer.transferred(*core, kind, line);
            }
        }
        let victim = self.fill(access, l2, self.l2_set(line, l2), line, observer);
        if victim == EMPTY {
            return;
        }
        if geometry.l2_inclusion == Inclusion::Inclusive {
            self.lines[victim.index()].holders &= !(1 << cluster);
            self.take_from_l1s(geometry, *cluster, victim, Cause::Inclusion);
        } else {
            self.forget_holder(geometry, *cluster, victim);
        }
        if let (Some(l3), Inclusion::Exclusive) = (&geometry.l3, geometry.l3_inclusion) {
            self.disown(geometry, victim, NOBODY);
            let set = self.l3_set(victim);
            match self.way(geometry, victim, l3) {
                Some(way) => self.ways.hit(l3, set, way),
                None => {
                    self.fill(access, l3, set, victim, observer);
                }
            }
        }
    }

    /// Returns whether the L3 serves the line. On a miss, brings the line into the L3 unless it is
    /// exclusive.
    #[inline(always)]
    fn look_up_l3<O: Observer>(&mut self, access: Access<'_>, observer: &mut O) -> bool {
        let Access { geometry, line, .. } = access;
        let Some(l3) = &geometry.l3 else {
            return false;
        };
        let exclusive = geometry.l3_inclusion == Inclusion::Exclusive;
        let set = self.l3_set(line);
        if let Some(way) = self.way(geometry, line, l3) {
            match exclusive {
                true => self.remove(geometry, l3, set, line, Cause::Coherence),
                false => self.ways.hit(l3, set, way),
            }
            return true;
        }
        self.count_miss(access, l3, observer);
        if !exclusive {
            let victim = self.fill(access, l3, set, line, observer);
            if victim != EMPTY && geometry.l3_inclusion == Inclusion::Inclusive {
                for cluster in ones(self.lines[victim.index()].holders) {
                    self.take_from_cluster(geometry, cluster, victim, Cause::Inclusion);
                }
            }
        }
        false
    }

    /// Puts `line` into its `set` of `cache` because of an access. Returns the replaced line, or
    /// [`EMPTY`].
    #[inline(always)]
    fn fill<O: Observer>(
        &mut self,
        access: Access<'_>,
        cache: &Cache,
        set: usize,
        line: LineId,
        observer: &mut O,
    ) -> LineId {
        let Access { geometry, view, .. } = access;
        let (way, victim) = self.ways.fill(cache, set, line);
        self.rows[geometry.place(line, cache)] = HELD + way as u8;
        if victim != EMPTY {
            self.rows[geometry.place(victim, cache)] = Cause::Capacity as u8;
            observer.replaced(cache.level, cache.instance as usize, view.core, victim);
        }
        victim
    }

    #[inline(always)]
    fn count_miss<O: Observer>(&mut self, access: Access<'_>, cache: &Cache, observer: &mut O) {
        let Access {
            geometry,
            view,
            kind,
            line,
            counts,
        } = access;
        let cause = Cause::of(self.rows[geometry.place(line, cache)]);
        if counts {
            self.tallies[view.core.index()].count(cache.level, kind, cause);
        }
        observer.missed(cache.level, view.core, kind, cause, line);
    }
}

/// Returns the cluster that owns a line, or that contains the owning core.
#[inline(always)]
fn owning_cluster(geometry: &Geometry, owner: u8) -> usize {
    match owner & CLUSTER {
        0 => geometry.core_views[usize::from(owner)].cluster,
        _ => usize::from(owner & !CLUSTER),
    }
}
