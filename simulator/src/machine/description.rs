//! A machine: the number of cores, the sizes of their caches, and the latency of each level.

use super::processor::Core;
use super::topology::{Distance, Topology};
use super::translation::Translation;
use serde::Deserialize;

/// Bytes in a line. corehop uses lines of 64 bytes everywhere.
pub const LINE_SIZE_BYTES: u64 = 1 << corehop_traces::execution::LINE_SHIFT;

/// Cycles of a hop to a worker thread that is awake, if the machine file has no value: half a
/// microsecond (research/notes/hops.md, `make bench-hop`).
pub const CARRIED_HOP_CYCLES: u32 = 1200;

/// Maximum number of cores of a machine: the cores that hold a line are a 64-bit mask.
pub const CORES_MAXIMUM: u32 = 64;

/// A machine of cores with an L1I, an L1D and an L2, and optionally one L3 that all cores share.
///
/// Neighbouring cores may share an L1I, an L1D or an L2, see [`Level::shared_by`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The name in reports and plans.
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
    /// Cycles of an access that caches above another L2 serve. The default in a machine file is the
    /// L3's latency or, without an L3, the memory latency.
    pub transfer_latency_cycles: u32,
    /// Cycles from leaving one core to running on another, by `sched_setaffinity` unless the caller
    /// selects another mechanism.
    pub hop_cost_cycles: u32,
    /// The same to a core that is not idle and need not be woken; the default in a machine file is
    /// [`Machine::hop_cost_cycles`]. Only a replay with clocks distinguishes the two.
    pub busy_hop_cost_cycles: u32,
    /// The same to a core that has been idle for some time, in rising order of the time: an idle
    /// CPU sleeps the deeper, the longer it is idle. Only a replay with clocks reads it.
    pub idle_hops: Vec<IdleHop>,
    /// The same to a worker thread that is awake; the default in a machine file is
    /// [`CARRIED_HOP_CYCLES`].
    pub carried_hop_cost_cycles: u32,
    /// The properties of each core besides its caches. They do not affect the counters of a replay.
    pub core: Core,
    /// Which cores are near each other. This does not affect the counters of a replay.
    pub topology: Topology,
    /// TLBs and page-walk caches, if the machine file describes them. They affect only a replay
    /// whose [`crate::ReplayOptions`] request translation.
    pub translation: Option<Translation>,
}

/// A point on the curve of the cost of hops to an idle core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleHop {
    /// How long the core has been idle.
    pub idle_cycles: u64,
    /// Cycles of a hop to it.
    pub cost_cycles: u32,
}

/// One level of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Capacity of one instance in bytes.
    pub size_bytes: u64,
    /// Ways of a set, 1 to 128.
    pub ways: u32,
    /// Cycles of an access that this level serves, from issue to data.
    pub latency_cycles: u32,
    /// Replacement policy; the default in a machine file is least recently used.
    pub policy: Policy,
    /// Number of neighbouring cores that share one instance: core `c` uses instance `c /
    /// shared_by`. It is 1 for the L3, which all cores share.
    pub shared_by: u32,
    /// Inclusion of the lines of the levels above. First-level caches have no level above them and
    /// keep the default.
    pub inclusion: Inclusion,
}

impl Machine {
    /// Returns the cycles of a hop by the `carrier` backend: at most [`Machine::hop_cost_cycles`].
    pub fn carried_hop_cycles(&self) -> u32 {
        self.hop_cost_cycles.min(self.carried_hop_cost_cycles)
    }

    /// Sets the cost of a hop to any core, busy or idle.
    pub fn set_hop_cost(&mut self, cycles: u32) {
        self.hop_cost_cycles = cycles;
        self.busy_hop_cost_cycles = cycles;
        self.idle_hops.clear();
    }

    /// Returns the cycles of a hop to a core that has been idle for this many: linear between
    /// [`Machine::hop_cost_cycles`] and the points of [`Machine::idle_hops`], and that of the last
    /// one beyond it.
    pub fn idle_hop_cycles(&self, idle_cycles: u64) -> u32 {
        let mut before = IdleHop {
            idle_cycles: 0,
            cost_cycles: self.hop_cost_cycles,
        };
        for &point in &self.idle_hops {
            if idle_cycles < point.idle_cycles {
                let rise = i128::from(point.cost_cycles) - i128::from(before.cost_cycles);
                let passed = i128::from(idle_cycles - before.idle_cycles);
                let whole = i128::from(point.idle_cycles - before.idle_cycles);
                // Between the costs of the two points.
                return (i128::from(before.cost_cycles) + rise * passed / whole) as u32;
            }
            before = point;
        }
        before.cost_cycles
    }

    /// Returns how far `core` is from `other`. If the topology defines no groups, L2s are grouped
    /// in pairs, these in pairs, and so on, which matches the core numbering of most machines.
    pub fn distance(&self, core: u32, other: u32) -> Distance {
        self.topology.distance(self.l2.shared_by, core, other)
    }
}

/// Which line of a full set is evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The least recently used line.
    #[default]
    Lru,
    /// The line that was filled first, however often it was used since.
    Fifo,
    /// The line that a binary tree of bits points to (tree-PLRU): each use turns the bits on its
    /// path away. The number of ways must be a power of two, at most 64.
    Plru,
    /// A random line, from a sequence of pseudorandom numbers.
    Random,
}

/// What a level guarantees about the lines in the levels above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// It contains all of them: a line evicted from it is also evicted from them.
    #[default]
    Inclusive,
    /// No guarantee: it is filled on a miss like the levels above, and evictions do not affect
    /// them.
    NonInclusive,
    /// L3 only: it receives the lines evicted from the L2s, and removes a line when it serves it.
    Exclusive,
}

impl Level {
    /// Creates a level with the defaults of a machine file: least recently used, not shared,
    /// inclusive.
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

    /// Returns the number of sets. It is exact for every level of a checked machine.
    pub fn sets(&self) -> u64 {
        self.size_bytes / (u64::from(self.ways) * LINE_SIZE_BYTES)
    }
}
