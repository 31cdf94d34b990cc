//! The engine's observer of the caches: the level that served a reference, and L2 evictions between
//! connections.

use super::unused::Unused;
use crate::core_model::ServedBy;
use crate::prefetchers::prefetcher::Prefetcher;
use crate::{CacheLevel, Cause, CoreId, Inclusion, LineId, Machine, Observer};
use corehop_traces::Kind;
use std::marker::PhantomData;

pub(crate) struct Watch<P> {
    /// The level that served the current reference, as far as known.
    pub served_by: ServedBy,
    /// Whether it is a store that invalidated its line in another cluster.
    pub takes_line: bool,
    /// The connection whose thread makes it.
    pub connection: u16,
    /// Unused prefetched lines; empty if `P` never prefetches.
    pub unused: Unused,
    has_l3: bool,
    /// Whether an L3 eviction invalidates the line in other caches.
    l3_is_inclusive: bool,
    l2s: usize,
    cores_per_l2: usize,
    connections: usize,
    /// For each line and L2, the connection that last looked it up there.
    owners: Vec<u16>,
    /// Indexed by the connection that lost a line and the connection that replaced it.
    evictions: Vec<u64>,
    prefetcher: PhantomData<P>,
}

impl<P: Prefetcher> Watch<P> {
    /// Creates an observer for `cores` cores of `machine`, and `lines` lines and `connections`
    /// connections.
    pub fn new(machine: &Machine, cores: u32, lines: usize, connections: usize) -> Watch<P> {
        let l2s = cores.div_ceil(machine.l2.shared_by) as usize;
        Watch {
            served_by: ServedBy::L1,
            takes_line: false,
            connection: 0,
            unused: Unused::new(cores as usize),
            has_l3: machine.l3.is_some(),
            l3_is_inclusive: machine
                .l3
                .is_some_and(|l3| l3.inclusion == Inclusion::Inclusive),
            l2s,
            cores_per_l2: machine.l2.shared_by as usize,
            connections,
            owners: vec![0; lines * l2s],
            evictions: vec![0; connections * connections],
            prefetcher: PhantomData,
        }
    }

    /// Prepares for the next reference.
    #[inline(always)]
    pub fn begin_reference(&mut self) {
        self.served_by = ServedBy::L1;
        self.takes_line = false;
    }

    /// Adds a line.
    pub fn add_line(&mut self) {
        self.owners.resize(self.owners.len() + self.l2s, 0);
    }

    /// Returns the L2 of `core`.
    pub fn l2_of(&self, core: CoreId) -> usize {
        core.index() / self.cores_per_l2
    }

    /// Records that the connection looks up the line in the L2 of `core`; returns that L2.
    pub fn looked_up(&mut self, core: CoreId, line: LineId) -> usize {
        let l2 = self.l2_of(core);
        self.owners[line.index() * self.l2s + l2] = self.connection;
        l2
    }

    pub fn start_counting(&mut self) {
        self.evictions.fill(0);
        self.unused.start_counting();
    }

    pub fn evictions(&self) -> Vec<Vec<u64>> {
        let rows = self.evictions.chunks(self.connections);
        rows.map(<[u64]>::to_vec).collect()
    }
}

impl<P: Prefetcher> Observer for Watch<P> {
    fn missed(
        &mut self,
        level: CacheLevel,
        core: CoreId,
        _kind: Kind,
        _cause: Cause,
        line: LineId,
    ) {
        self.served_by = match level {
            CacheLevel::L1I | CacheLevel::L1D => {
                self.looked_up(core, line);
                ServedBy::L2
            }
            CacheLevel::L2 if self.has_l3 => ServedBy::L3,
            CacheLevel::L2 | CacheLevel::L3 => ServedBy::Memory,
        };
    }

    fn transferred(&mut self, _core: CoreId, _kind: Kind, _line: LineId) {
        self.served_by = ServedBy::OtherL2;
    }

    fn hit_modified(&mut self, _core: CoreId, _kind: Kind, _line: LineId) {
        self.served_by = ServedBy::OtherL2;
    }

    fn replaced(&mut self, level: CacheLevel, instance: usize, _core: CoreId, line: LineId) {
        if level == CacheLevel::L2 {
            let owner = self.owners[line.index() * self.l2s + instance];
            let row = usize::from(owner) * self.connections;
            self.evictions[row + usize::from(self.connection)] += 1;
        }
        if P::ASKS {
            match level {
                CacheLevel::L2 => self.unused.lost(instance, line),
                CacheLevel::L3 if self.l3_is_inclusive => {
                    (0..self.l2s).for_each(|l2| self.unused.lost(l2, line));
                }
                CacheLevel::L1I | CacheLevel::L1D | CacheLevel::L3 => {}
            }
        }
    }

    fn invalidated(&mut self, cluster: usize, _core: CoreId, line: LineId) {
        self.takes_line = true;
        if P::ASKS {
            self.unused.lost(cluster, line);
        }
    }
}
