//! What the engine hears of the caches: what served a reference, and whose lines an L2 replaced.

use corehop_core_model::ServedBy;
use corehop_simulator::{CacheLevel, Cause, CoreId, LineId, Machine, Observer};
use corehop_traces::Kind;

pub(crate) struct Watch {
    /// What served the reference that is made, as far as is known.
    pub served_by: ServedBy,
    /// Whose thread makes it.
    pub connection: u16,
    has_l3: bool,
    l2s: usize,
    cores_per_l2: usize,
    connections: usize,
    /// By line and L2, the connection that looked it up there last.
    owners: Vec<u16>,
    /// By connection that lost a line, and connection that replaced it.
    evictions: Vec<u64>,
}

impl Watch {
    /// Of so many cores of `machine`, for so many lines and connections.
    pub fn new(machine: &Machine, cores: u32, lines: usize, connections: usize) -> Watch {
        let l2s = cores.div_ceil(machine.l2.shared_by) as usize;
        Watch {
            served_by: ServedBy::L1,
            connection: 0,
            has_l3: machine.l3.is_some(),
            l2s,
            cores_per_l2: machine.l2.shared_by as usize,
            connections,
            owners: vec![0; lines * l2s],
            evictions: vec![0; connections * connections],
        }
    }

    pub fn start_counting(&mut self) {
        self.evictions.fill(0);
    }

    pub fn evictions(&self) -> Vec<Vec<u64>> {
        let rows = self.evictions.chunks(self.connections);
        rows.map(<[u64]>::to_vec).collect()
    }
}

impl Observer for Watch {
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
                let l2 = core.index() / self.cores_per_l2;
                self.owners[line.index() * self.l2s + l2] = self.connection;
                ServedBy::L2
            }
            CacheLevel::L2 if self.has_l3 => ServedBy::L3,
            CacheLevel::L2 | CacheLevel::L3 => ServedBy::Memory,
        };
    }

    fn transferred(&mut self, _core: CoreId, _kind: Kind, _line: LineId) {
        self.served_by = ServedBy::OtherL2;
    }

    fn replaced(&mut self, level: CacheLevel, instance: usize, _core: CoreId, line: LineId) {
        if level == CacheLevel::L2 {
            let owner = self.owners[line.index() * self.l2s + instance];
            let row = usize::from(owner) * self.connections;
            self.evictions[row + usize::from(self.connection)] += 1;
        }
    }
}
