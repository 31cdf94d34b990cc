//! What a simulation counts.
//!
//! [`Counters`] is plain sums, so those of cores, of requests or of set partitions add up; the keys
//! it serialises to are part of `corehop`'s interface, and hold sums that the fields imply, for
//! readers who cannot call a method.

use crate::machine::Machine;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Accesses and misses of one core or of several. An access is one line referenced by one fetch,
/// load or store; an L2 access is an L1 miss, an L3 access an L2 miss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Instruction caches: fetches only.
    pub l1i: LevelCounters,
    /// Data caches: loads and stores only.
    pub l1d: LevelCounters,
    /// What the L1s missed.
    pub l2: LevelCounters,
    /// What the L2s missed; zero on a machine without an L3.
    pub l3: LevelCounters,
    /// Accesses that no cache of the core's own and no L3 served, but one above another L2.
    pub transfers: u64,
    /// Hits of the L3, of lines that another cluster has modified and holds: `perf c2c` calls them
    /// HITM. What the L3 holds is old, so they cost what a transfer does.
    pub hit_modified: u64,
    /// Times the cores' clusters (L2 and the L1s above it) lost a line to another cluster's store.
    pub invalidated_lines: u64,
    /// The sum, over all accesses, of the latency of what served it, plus hops times the cost of
    /// one.
    pub cycles: u64,
}

/// Accesses and misses of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounters {
    /// Fetches.
    pub fetch: KindCounters,
    /// Loads.
    pub load: KindCounters,
    /// Stores.
    pub store: KindCounters,
}

/// Accesses and misses of one kind at one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindCounters {
    /// Lines looked up.
    pub accesses: u64,
    /// Those not found, by why.
    pub misses: MissCauses,
}

/// Why lines were missing from a cache, see [`crate::Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MissCauses {
    /// The cache never held the line.
    pub cold: u64,
    /// It had replaced the line, for want of room or of ways.
    pub capacity: u64,
    /// A store elsewhere had removed it; in an exclusive L3 also: it had gone up.
    pub coherence: u64,
    /// An inclusive outer level had lost it, and taken it from this one as well.
    pub inclusion: u64,
}

impl MissCauses {
    /// All misses, whatever the cause.
    pub fn total(&self) -> u64 {
        self.cold + self.capacity + self.coherence + self.inclusion
    }
}

impl KindCounters {
    /// Lines found.
    pub fn hits(&self) -> u64 {
        self.accesses - self.misses.total()
    }
}

impl LevelCounters {
    /// Lines looked up.
    pub fn accesses(&self) -> u64 {
        self.fetch.accesses + self.load.accesses + self.store.accesses
    }

    /// Lines found.
    pub fn hits(&self) -> u64 {
        self.accesses() - self.misses()
    }

    /// Lines not found.
    pub fn misses(&self) -> u64 {
        self.causes().total()
    }

    /// Those missed by fetches.
    pub fn fetch_misses(&self) -> u64 {
        self.fetch.misses.total()
    }

    /// Those missed by loads and stores.
    pub fn data_misses(&self) -> u64 {
        self.data_causes().total()
    }

    /// Those missed because a store elsewhere had removed the line.
    pub fn coherence_misses(&self) -> u64 {
        self.causes().coherence
    }

    /// Why lines were not found.
    pub fn causes(&self) -> MissCauses {
        self.fetch.misses + self.data_causes()
    }

    /// Why loads and stores did not find theirs.
    pub fn data_causes(&self) -> MissCauses {
        self.load.misses + self.store.misses
    }
}

impl Counters {
    /// Lines referenced by fetches, loads and stores.
    pub fn accesses(&self) -> u64 {
        self.l1i.accesses() + self.l1d.accesses()
    }

    /// The cycles these accesses and `hops` take on `machine`: every access costs the latency of
    /// what served it, nothing overlaps, and a hop costs what the machine says.
    pub fn cycles_on(&self, machine: &Machine, hops: u64) -> u64 {
        let (outermost, l3_latency_cycles) = match machine.l3 {
            Some(l3) => (&self.l3, l3.latency_cycles),
            None => (&self.l2, 0),
        };
        let from_memory = outermost.misses() - self.transfers;
        [
            (self.l1i.hits(), machine.l1i.latency_cycles),
            (self.l1d.hits(), machine.l1d.latency_cycles),
            (self.l2.hits(), machine.l2.latency_cycles),
            (self.l3.hits() - self.hit_modified, l3_latency_cycles),
            (
                self.transfers + self.hit_modified,
                machine.transfer_latency_cycles,
            ),
            (from_memory, machine.memory_latency_cycles),
            (hops, machine.hop_cost_cycles),
        ]
        .into_iter()
        .map(|(count, cycles)| count * u64::from(cycles))
        .sum()
    }
}

impl Serialize for LevelCounters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_struct("LevelCounters", 9)?;
        keys.serialize_field("accesses", &self.accesses())?;
        keys.serialize_field("hits", &self.hits())?;
        keys.serialize_field("misses", &self.misses())?;
        keys.serialize_field("fetch_misses", &self.fetch_misses())?;
        keys.serialize_field("data_misses", &self.data_misses())?;
        keys.serialize_field("coherence_misses", &self.coherence_misses())?;
        keys.serialize_field("fetch", &self.fetch)?;
        keys.serialize_field("load", &self.load)?;
        keys.serialize_field("store", &self.store)?;
        keys.end()
    }
}

impl Serialize for KindCounters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_struct("KindCounters", 7)?;
        keys.serialize_field("accesses", &self.accesses)?;
        keys.serialize_field("hits", &self.hits())?;
        keys.serialize_field("misses", &self.misses.total())?;
        keys.serialize_field("cold", &self.misses.cold)?;
        keys.serialize_field("capacity", &self.misses.capacity)?;
        keys.serialize_field("coherence", &self.misses.coherence)?;
        keys.serialize_field("inclusion", &self.misses.inclusion)?;
        keys.end()
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.l1i += other.l1i;
        self.l1d += other.l1d;
        self.l2 += other.l2;
        self.l3 += other.l3;
        self.transfers += other.transfers;
        self.hit_modified += other.hit_modified;
        self.invalidated_lines += other.invalidated_lines;
        self.cycles += other.cycles;
    }
}

impl AddAssign for LevelCounters {
    fn add_assign(&mut self, other: LevelCounters) {
        self.fetch += other.fetch;
        self.load += other.load;
        self.store += other.store;
    }
}

impl AddAssign for KindCounters {
    fn add_assign(&mut self, other: KindCounters) {
        self.accesses += other.accesses;
        self.misses += other.misses;
    }
}

impl AddAssign for MissCauses {
    fn add_assign(&mut self, other: MissCauses) {
        self.cold += other.cold;
        self.capacity += other.capacity;
        self.coherence += other.coherence;
        self.inclusion += other.inclusion;
    }
}

impl Add for MissCauses {
    type Output = MissCauses;

    fn add(mut self, other: MissCauses) -> MissCauses {
        self += other;
        self
    }
}

impl Add for Counters {
    type Output = Counters;

    fn add(mut self, other: Counters) -> Counters {
        self += other;
        self
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(counters: I) -> Counters {
        counters.fold(Counters::default(), Add::add)
    }
}
