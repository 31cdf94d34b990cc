//! What a simulation counts.
//!
//! [`Counters`] is plain sums, so those of cores, of requests or of shards add up; the keys it
//! serialises to are part of `corehop`'s interface.

use crate::Machine;
use serde::Serialize;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Accesses and misses of one core or of several. An access is one line touched by one fetch, load
/// or store; an L2 access is an L1 miss, an L3 access an L2 miss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Fetches.
    pub l1i: L1Counters,
    /// Loads and stores.
    pub l1d: L1Counters,
    /// What the L1s missed.
    pub l2: L2Counters,
    /// What the L2s missed; zero where only private caches were simulated.
    pub l3: L3Counters,
    /// Lines that stores of other cores removed from these cores' L2.
    pub invalidated_lines: u64,
    /// The sum, over all accesses, of the latency of the level that served it, plus hops times the
    /// cost of one; zero where only private caches were simulated.
    pub cycles: u64,
}

/// Accesses and misses of first-level caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct L1Counters {
    /// Lines looked up.
    pub accesses: u64,
    /// Lines not found.
    pub misses: u64,
}

/// Accesses and misses of second-level caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct L2Counters {
    /// Lines looked up: misses of L1I and L1D.
    pub accesses: u64,
    /// Lines not found.
    pub misses: u64,
    /// Those missed by fetches.
    pub fetch_misses: u64,
    /// Those missed by loads and stores.
    pub data_misses: u64,
    /// Those missed because another core's store had removed the line.
    pub coherence_misses: u64,
    /// Why fetches missed; adds up to `fetch_misses`.
    pub fetch_causes: MissCauses,
    /// Why loads and stores missed; adds up to `data_misses`.
    pub data_causes: MissCauses,
}

/// Accesses and misses of the third level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct L3Counters {
    /// Lines looked up: misses of the L2s.
    pub accesses: u64,
    /// Lines not found.
    pub misses: u64,
    /// Those missed by fetches.
    pub fetch_misses: u64,
    /// Those missed by loads and stores.
    pub data_misses: u64,
}

/// Why lines were missing from a core's L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MissCauses {
    /// The core never held the line.
    pub cold: u64,
    /// The core's own accesses had replaced it, for want of room or of ways.
    pub capacity: u64,
    /// Another core's store had removed it.
    pub coherence: u64,
    /// The L3 had replaced it, and an inclusive L3 takes it from the cores as well.
    pub inclusion: u64,
}

impl MissCauses {
    /// All misses, whatever the cause.
    pub fn total(&self) -> u64 {
        self.cold + self.capacity + self.coherence + self.inclusion
    }
}

impl Counters {
    /// Lines touched by fetches, loads and stores.
    pub fn accesses(&self) -> u64 {
        self.l1i.accesses + self.l1d.accesses
    }

    /// The cycles these accesses and `hops` take on `machine`: every access costs the latency of
    /// the level that served it, nothing overlaps, and a hop costs what the machine says.
    pub fn cycles_on(&self, machine: &Machine, hops: u64) -> u64 {
        let l3_latency_cycles = machine.l3.map_or(0, |l3| l3.latency_cycles);
        [
            (
                self.l1i.accesses - self.l1i.misses,
                machine.l1i.latency_cycles,
            ),
            (
                self.l1d.accesses - self.l1d.misses,
                machine.l1d.latency_cycles,
            ),
            (self.l2.accesses - self.l2.misses, machine.l2.latency_cycles),
            (self.l3.accesses - self.l3.misses, l3_latency_cycles),
            (self.l3.misses, machine.memory_latency_cycles),
            (hops, machine.hop_cost_cycles),
        ]
        .into_iter()
        .map(|(count, cycles)| count * u64::from(cycles))
        .sum()
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.l1i += other.l1i;
        self.l1d += other.l1d;
        self.l2 += other.l2;
        self.l3 += other.l3;
        self.invalidated_lines += other.invalidated_lines;
        self.cycles += other.cycles;
    }
}

impl AddAssign for L1Counters {
    fn add_assign(&mut self, other: L1Counters) {
        self.accesses += other.accesses;
        self.misses += other.misses;
    }
}

impl AddAssign for L2Counters {
    fn add_assign(&mut self, other: L2Counters) {
        self.accesses += other.accesses;
        self.misses += other.misses;
        self.fetch_misses += other.fetch_misses;
        self.data_misses += other.data_misses;
        self.coherence_misses += other.coherence_misses;
        self.fetch_causes += other.fetch_causes;
        self.data_causes += other.data_causes;
    }
}

impl AddAssign for L3Counters {
    fn add_assign(&mut self, other: L3Counters) {
        self.accesses += other.accesses;
        self.misses += other.misses;
        self.fetch_misses += other.fetch_misses;
        self.data_misses += other.data_misses;
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
