//! The caches of a machine, and which of them each core uses.
//!
//! It is derived once and shared by all hierarchies. A *set partition* is all lines with the same
//! line number modulo some R that divides every number of sets. Its lines map to every R-th set of
//! each level and to no others. Set partitions are therefore simulated separately, each in its own
//! hierarchy.

use super::cache::Cache;
use super::page_map::{PAGE_LINES, PageMap};
use crate::ids::{CoreId, LineId};
use crate::machine::{Inclusion, Level, Machine};
use crate::report::observer::CacheLevel;
use corehop_traces::Kind;

/// The caches that some cores of a machine use, for lines of one set partition.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub(crate) core_views: Vec<CoreView>,
    pub(crate) clusters: Vec<Cluster>,
    /// The L3, which is the last cache.
    pub(crate) l3: Option<Cache>,
    pub(crate) l2_inclusion: Inclusion,
    pub(crate) l3_inclusion: Inclusion,
    /// L3 sets for one set partition; 1 without an L3.
    pub(crate) l3_sets: u64,
    /// Bytes stored for each line: one for each cache, one for its owner, and padding.
    pub(crate) row_bytes: usize,
    /// Whether no L1D is shared, so that an L1D identifies its core.
    pub(crate) owners_know: bool,
    /// All caches, in order of their indices.
    pub(crate) caches: Vec<Cache>,
    set_partition_count: u64,
    /// The page map of the L2s, if any.
    page_map: Option<PageMap>,
}

/// The caches of one core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreView {
    pub(crate) core: CoreId,
    /// The L1I, then the L1D.
    pub(crate) l1: [Cache; 2],
    pub(crate) l2: Cache,
    pub(crate) cluster: usize,
}

impl CoreView {
    /// Returns the L1 for accesses of this kind.
    #[inline(always)]
    pub(crate) fn l1(&self, kind: Kind) -> &Cache {
        &self.l1[usize::from(kind != Kind::Fetch)]
    }
}

/// The cores that share an L2, and the caches above it.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) first_core: CoreId,
    pub(crate) l2: Cache,
    pub(crate) l1s: Vec<Cache>,
}

impl Geometry {
    /// Returns the caches of the first `cores_used` cores of `machine`, for lines of one set
    /// partition of `set_partition_count`.
    ///
    /// # Panics
    /// If [`Machine::check`] rejects the machine, if `cores_used` is zero or more than the machine
    /// has, or if `set_partition_count` does not divide the number of sets of every level.
    pub fn new(machine: &Machine, cores_used: u32, set_partition_count: u64) -> Geometry {
        if let Err(problem) = machine.check() {
            panic!("a machine that breaks its own rules: {problem}");
        }
        let cores = machine.cores;
        assert!(
            (1..=cores).contains(&cores_used),
            "{cores_used} cores of {cores}"
        );
        let divides = |level: &Level| {
            set_partition_count > 0 && level.sets().is_multiple_of(set_partition_count)
        };
        assert!(
            levels(machine).iter().all(divides),
            "{set_partition_count} set partitions do not divide the sets of every level"
        );
        let mut caches: Vec<Cache> = Vec::new();
        let mut first_index = |kind: CacheLevel, level: &Level, count: u32| {
            let (first, sets) = (caches.len(), level.sets() / set_partition_count);
            for instance in 0..count {
                caches.push(Cache::new(kind, instance, level, sets, caches.last()));
            }
            first
        };
        let Machine {
            l1i, l1d, l2, l3, ..
        } = machine;
        let count = |level: &Level| cores_used.div_ceil(level.shared_by);
        let first_l1i = first_index(CacheLevel::L1I, l1i, count(l1i));
        let first_l1d = first_index(CacheLevel::L1D, l1d, count(l1d));
        let first_l2 = first_index(CacheLevel::L2, l2, count(l2));
        let l3_index = l3.as_ref().map(|l3| first_index(CacheLevel::L3, l3, 1));
        let view = |core: u32| {
            let of_core = |level: &Level| (core / level.shared_by) as usize;
            CoreView {
                core: CoreId(core),
                l1: [
                    caches[first_l1i + of_core(l1i)],
                    caches[first_l1d + of_core(l1d)],
                ],
                l2: caches[first_l2 + of_core(l2)],
                cluster: of_core(l2),
            }
        };
        let core_views: Vec<CoreView> = (0..cores_used).map(view).collect();
        Geometry {
            clusters: clusters(&core_views),
            core_views,
            l3: l3_index.map(|index| caches[index]),
            l2_inclusion: l2.inclusion,
            l3_inclusion: l3.map_or(Inclusion::NonInclusive, |l3| l3.inclusion),
            l3_sets: l3.map_or(1, |l3| l3.sets() / set_partition_count),
            owners_know: l1d.shared_by == 1,
            row_bytes: (caches.len() + 1).next_multiple_of(8),
            caches,
            set_partition_count,
            page_map: None,
        }
    }

    /// Returns the same geometry with pages placed by `map` in each L2.
    ///
    /// # Panics
    /// If 64 is not a multiple of the number of set partitions.
    #[must_use]
    pub fn with_page_map(mut self, map: &PageMap) -> Geometry {
        assert!(
            PAGE_LINES.is_multiple_of(self.set_partition_count),
            "{} set partitions do not divide a page",
            self.set_partition_count
        );
        self.page_map = Some(map.clone());
        self
    }

    /// Returns the L2 set of a line if there is a page map; otherwise it follows from the quotient.
    pub(crate) fn mapped_l2_set(&self, quotient: u64) -> Option<u32> {
        let map = self.page_map.as_ref()?;
        let line = map.line(quotient, PAGE_LINES / self.set_partition_count);
        Some(line as u32 & self.core_views[0].l2.last_set)
    }

    /// Returns the largest number of set partitions, at most 64, that divides every level's sets.
    pub fn set_partition_count_of(machine: &Machine) -> u64 {
        let sets = levels(machine).into_iter().map(|level| level.sets());
        sets.fold(64, greatest_common_divisor)
    }

    /// Returns the index in the rows of all lines of the byte of `line` for `cache`.
    #[inline(always)]
    pub(crate) fn place(&self, line: LineId, cache: &Cache) -> usize {
        line.index() * self.row_bytes + cache.index as usize
    }

    /// Returns the index in the rows of all lines of the owner of `line`.
    #[inline(always)]
    pub(crate) fn owner(&self, line: LineId) -> usize {
        line.index() * self.row_bytes + self.row_bytes - 1
    }
}

/// Returns the machine's levels, from the L1I outwards.
pub(crate) fn levels(machine: &Machine) -> Vec<Level> {
    let private = [machine.l1i, machine.l1d, machine.l2];
    private.into_iter().chain(machine.l3).collect()
}

fn clusters(core_views: &[CoreView]) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    for view in core_views {
        if view.cluster == clusters.len() {
            clusters.push(Cluster {
                first_core: view.core,
                l2: view.l2,
                l1s: Vec::new(),
            });
        }
        let l1s = &mut clusters[view.cluster].l1s;
        for l1 in view.l1 {
            if !l1s.iter().any(|known| known.index == l1.index) {
                l1s.push(l1);
            }
        }
    }
    clusters
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
