//! The counts of a simulation.
//!
//! [`Counters`] is plain sums, so counters of cores, requests or set partitions can be added. The
//! serialised keys are part of `corehop`'s interface. They include sums that the fields imply, for
//! readers that cannot call a method.

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
    /// Accesses that missed in the L1s.
    pub l2: LevelCounters,
    /// Accesses that missed in the L2s; zero on a machine without an L3.
    pub l3: LevelCounters,
    /// Accesses that the core's own caches and the L3 missed, and a cache above another L2 served.
    pub transfers: u64,
    /// L3 hits on lines that another cluster holds modified: `perf c2c` calls them HITM. The L3
    /// copy is stale, so they cost as much as a transfer.
    pub hit_modified: u64,
    /// Number of times the cores' clusters (L2 and the L1s above it) lost a line to another
    /// cluster's store.
    pub invalidated_lines: u64,
    /// Sum of the latencies of all accesses, plus hops times the cost of one.
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
    /// Number of lookups.
    pub accesses: u64,
    /// Lookups that missed, by cause.
    pub misses: MissCauses,
}

/// Causes of misses, see [`crate::Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MissCauses {
    /// The cache never held the line.
    pub cold: u64,
    /// The cache replaced the line for lack of capacity or of ways.
    pub capacity: u64,
    /// A store elsewhere removed it. In an exclusive L3 also: the line moved up to an L2.
    pub coherence: u64,
    /// An inclusive outer level evicted it and invalidated this copy.
    pub inclusion: u64,
}

impl MissCauses {
    /// Returns the sum over all causes.
    pub fn total(&self) -> u64 {
        self.cold + self.capacity + self.coherence + self.inclusion
    }
}

impl KindCounters {
    /// Returns the number of hits.
    pub fn hits(&self) -> u64 {
        self.accesses - self.misses.total()
    }
}

impl LevelCounters {
    /// Returns the number of lookups.
    pub fn accesses(&self) -> u64 {
        self.fetch.accesses + self.load.accesses + self.store.accesses
    }

    /// Returns the number of hits.
    pub fn hits(&self) -> u64 {
        self.accesses() - self.misses()
    }

    /// Returns the number of misses.
    pub fn misses(&self) -> u64 {
        self.causes().total()
    }

    /// Returns the misses of fetches.
    pub fn fetch_misses(&self) -> u64 {
        self.fetch.misses.total()
    }

    /// Returns the misses of loads and stores.
    pub fn data_misses(&self) -> u64 {
        self.data_causes().total()
    }

    /// Returns the misses on lines that a store elsewhere removed.
    pub fn coherence_misses(&self) -> u64 {
        self.causes().coherence
    }

    /// Returns the causes of all misses.
    pub fn causes(&self) -> MissCauses {
        self.fetch.misses + self.data_causes()
    }

    /// Returns the causes of the misses of loads and stores.
    pub fn data_causes(&self) -> MissCauses {
        self.load.misses + self.store.misses
    }
}

impl Counters {
    /// Returns the number of lines referenced by fetches, loads and stores.
    pub fn accesses(&self) -> u64 {
        self.l1i.accesses() + self.l1d.accesses()
    }

    /// Returns the cycles of these accesses and `hops` on `machine`. Every access costs the latency
    /// of the level that served it, nothing overlaps, and a hop costs [`Machine::hop_cost_cycles`].
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
