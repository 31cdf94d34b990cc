//! Which caches a machine has, and which of them each core uses.
//!
//! Derived once and shared by all worlds. A world of `residues` R holds only lines with one line
//! number modulo R; as R divides every number of sets, such lines meet in every R-th set of each
//! level and nowhere else, and worlds of different residues can be simulated apart.

use crate::cache::Cache;
use crate::machine::{Inclusion, Level, Machine};
use crate::watch::CacheLevel;

/// The caches that some cores of a machine use, in a world of one residue.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub(crate) seats: Vec<Seat>,
    pub(crate) clusters: Vec<Cluster>,
    /// Index of the L3, which comes after all others.
    pub(crate) l3: Option<usize>,
    pub(crate) l2_inclusion: Inclusion,
    pub(crate) l3_inclusion: Inclusion,
    /// Sets of the L3 in one world; 1 without an L3.
    pub(crate) l3_sets: u64,
    /// Bytes kept of each line: one a cache, one for its owner, and some to round up.
    pub(crate) row_bytes: usize,
    instances: Vec<(CacheLevel, usize, Level)>,
    residues: u64,
}

/// Where one core sits: indices of its caches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// The L1I, then the L1D.
    pub(crate) l1: [usize; 2],
    pub(crate) l2: usize,
    pub(crate) cluster: usize,
}

/// The cores that share an L2, with everything above it.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) first_core: usize,
    pub(crate) l2: usize,
    pub(crate) l1s: Vec<usize>,
}

impl Geometry {
    /// The caches of the first `cores_used` cores of `machine`, for lines of one of `residues`.
    ///
    /// # Panics
    /// On a machine that [`Machine::check`] refuses, when `cores_used` is zero or more than the
    /// machine has, and when `residues` does not divide the number of sets of every level.
    pub fn new(machine: &Machine, cores_used: u32, residues: u64) -> Geometry {
        if let Err(problem) = machine.check() {
            panic!("a machine that breaks its own rules: {problem}");
        }
        let cores = machine.cores;
        assert!(
            (1..=cores).contains(&cores_used),
            "{cores_used} cores of {cores}"
        );
        let divides = |level: &Level| residues > 0 && level.sets().is_multiple_of(residues);
        assert!(
            levels(machine).iter().all(divides),
            "{residues} residues do not divide the sets of every level"
        );
        let mut instances = Vec::new();
        let mut first_index = |kind: CacheLevel, level: &Level, count: u32| {
            let first = instances.len();
            instances.extend((0..count as usize).map(|instance| (kind, instance, *level)));
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
        let seat = |core: u32| {
            let place = |first: usize, level: &Level| first + (core / level.shared_by) as usize;
            Seat {
                l1: [place(first_l1i, l1i), place(first_l1d, l1d)],
                l2: place(first_l2, l2),
                cluster: place(0, l2),
            }
        };
        let seats: Vec<Seat> = (0..cores_used).map(seat).collect();
        Geometry {
            clusters: clusters(&seats),
            seats,
            l3: l3_index,
            l2_inclusion: l2.inclusion,
            l3_inclusion: l3.map_or(Inclusion::NonInclusive, |l3| l3.inclusion),
            l3_sets: l3.map_or(1, |l3| l3.sets() / residues),
            row_bytes: (instances.len() + 1).next_multiple_of(8),
            instances,
            residues,
        }
    }

    /// The largest number of residues, at most 64, that divides every level's sets.
    pub fn residues_of(machine: &Machine) -> u64 {
        let sets = levels(machine).into_iter().map(|level| level.sets());
        sets.fold(64, greatest_common_divisor)
    }

    /// Empty caches, in order of their indices.
    pub(crate) fn caches(&self) -> Vec<Cache> {
        let cache = |&(kind, instance, ref level): &(CacheLevel, usize, Level)| {
            Cache::new(kind, instance, level, level.sets() / self.residues)
        };
        self.instances.iter().map(cache).collect()
    }

    /// Where in a line's row its owner stands.
    #[inline]
    pub(crate) fn owner(&self) -> usize {
        self.row_bytes - 1
    }
}

fn levels(machine: &Machine) -> Vec<Level> {
    let private = [machine.l1i, machine.l1d, machine.l2];
    private.into_iter().chain(machine.l3).collect()
}

fn clusters(seats: &[Seat]) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    for (core, seat) in seats.iter().enumerate() {
        if seat.cluster == clusters.len() {
            clusters.push(Cluster {
                first_core: core,
                l2: seat.l2,
                l1s: Vec::new(),
            });
        }
        let l1s = &mut clusters[seat.cluster].l1s;
        for l1 in seat.l1 {
            if !l1s.contains(&l1) {
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
