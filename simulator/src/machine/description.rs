//! A machine: how many cores it has, how large their caches are, how slow each level is.

use super::processor::Core;
use super::topology::{Distance, Topology};
use super::translation::Translation;
use serde::Deserialize;

/// Bytes in a line. corehop counts in lines of 64 bytes everywhere.
pub const LINE_SIZE_BYTES: u64 = 1 << corehop_traces::execution::LINE_SHIFT;

/// Cycles of a hop to a carrier that is awake on a machine whose file does not say: half a
/// microsecond (research/notes/hops.md, `make bench-hop`).
pub const CARRIED_HOP_CYCLES: u32 = 1200;

/// Most cores a machine may have: who holds a line is kept in 64 bits.
pub const CORES_MAXIMUM: u32 = 64;

/// A machine of cores with an L1I, an L1D and an L2, and perhaps one L3 that all share.
///
/// Neighbouring cores may share an L1I, an L1D or an L2, see [`Level::shared_by`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name by which reports and plans call it.
    pub name: String,
    /// Number of cores, 1 to [`CORES_MAXIMUM`].
    pub cores: u32,
    /// Instruction caches.
    pub l1i: Level,
    /// Data caches.
    pub l1d: Level,
    /// Second-level caches, inclusive or non-inclusive of the first level.
    pub l2: Level,
    /// The third level, shared by all cores; `None` on a machine without one.
    pub l3: Option<Level>,
    /// Cycles of an access that no cache serves.
    pub memory_latency_cycles: u32,
    /// Cycles of an access that caches above another L2 serve. A machine file that does not say
    /// gets the L3's latency or, without an L3, memory's.
    pub transfer_latency_cycles: u32,
    /// Cycles from leaving one core to running on another, by `sched_setaffinity` unless something
    /// else is asked about.
    pub hop_cost_cycles: u32,
    /// The same to a core that is not idle, and so need not be woken; [`Machine::hop_cost_cycles`]
    /// where a machine file does not say. Only a replay with clocks knows which it is.
    pub busy_hop_cost_cycles: u32,
    /// The same by a carrier that is awake; a machine file that does not say gets
    /// [`CARRIED_HOP_CYCLES`].
    pub carried_hop_cost_cycles: u32,
    /// What each core is beside its caches. The counters of a replay do not depend on it.
    pub core: Core,
    /// Which cores are near each other. The counters of a replay do not depend on it.
    pub topology: Topology,
    /// What translates addresses, where a machine file says it. Only a replay whose
    /// [`crate::ReplayOptions`] ask for it depends on it.
    pub translation: Option<Translation>,
}

/// One level of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Capacity of one instance.
    pub size_bytes: u64,
    /// Lines in a set, 1 to 128.
    pub ways: u32,
    /// Cycles of an access that this level serves, from issue to data.
    pub latency_cycles: u32,
    /// What a full set gives up; least recently used where a machine file does not say.
    pub policy: Policy,
    /// How many neighbouring cores share one instance: core `c` uses instance `c / shared_by`. 1
    /// in the L3, which all cores share.
    pub shared_by: u32,
    /// What this level promises about the lines of the levels above it. First levels have none
    /// above them and keep the default.
    pub inclusion: Inclusion,
}

impl Machine {
    /// Cycles of a hop by carrier: no more than [`Machine::hop_cost_cycles`].
    pub fn carried_hop_cycles(&self) -> u32 {
        self.hop_cost_cycles.min(self.carried_hop_cost_cycles)
    }

    /// Has hops cost so much, whatever the core does.
    pub fn set_hop_cost(&mut self, cycles: u32) {
        self.hop_cost_cycles = cycles;
        self.busy_hop_cost_cycles = cycles;
    }

    /// How far `core` is from `other`. Where no groups are said, L2s are in pairs, these in pairs,
    /// and so on, as neighbours are numbered on most machines.
    pub fn distance(&self, core: u32, other: u32) -> Distance {
        self.topology.distance(self.l2.shared_by, core, other)
    }
}

/// Which line of a full set makes room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The least recently used.
    #[default]
    Lru,
    /// The one that came first, however often it was used since.
    Fifo,
    /// The one a binary tree of bits points to (tree-PLRU): each use turns the bits on its path
    /// away. Needs a power of two of ways, at most 64.
    Plru,
    /// Any, by a sequence of pseudorandom numbers.
    Random,
}

/// What a level promises about the lines in the levels above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// It holds all of them: a line that leaves it leaves them too.
    #[default]
    Inclusive,
    /// Nothing: it is filled on a miss like them, and a line leaves it alone.
    NonInclusive,
    /// L3 only: it takes the lines that leave the L2s, and gives a line up when it serves it.
    Exclusive,
}

impl Level {
    /// A level with the defaults of a machine file: least recently used, not shared, inclusive.
    pub fn new(size_bytes: u64, ways: u32, latency_cycles: u32) -> Level {
        Level {
            size_bytes,
            ways,
            latency_cycles,
            policy: Policy::default(),
            shared_by: 1,
            inclusion: Inclusion::default(),
        }
    }

    /// Number of sets. Exact for every level of a checked machine.
    pub fn sets(&self) -> u64 {
        self.size_bytes / (u64::from(self.ways) * LINE_SIZE_BYTES)
    }
}
