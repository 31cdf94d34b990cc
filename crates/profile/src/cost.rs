//! The cost of a part of the program: accesses, misses by level and cause, and cycles.
//!
//! The causes are the replay's, except that a line which was replaced is a *conflict* if a fully
//! associative cache of the same size would still hold it. The loads of page walks are part of the
//! cost of the accesses that caused them.

use corehop_simulator::{
    CacheLevel, Cause, Counters, KindCounters, LevelCounters, Machine, MissCauses,
};
use corehop_traces::Kind;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A level of cache. The kind of an access selects one of the two L1s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The L1I for fetches, the L1D for loads and stores.
    L1 = 0,
    /// The L2.
    L2 = 1,
    /// The L3.
    L3 = 2,
}

impl From<CacheLevel> for Level {
    fn from(level: CacheLevel) -> Level {
        match level {
            CacheLevel::L1I | CacheLevel::L1D => Level::L1,
            CacheLevel::L2 => Level::L2,
            CacheLevel::L3 => Level::L3,
        }
    }
}

/// Misses by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Causes {
    /// The cache never held the line.
    pub cold: u64,
    /// It had replaced the line, and a fully associative LRU cache of its size with the same
    /// accesses would not hold it either.
    pub capacity: u64,
    /// It had replaced the line, which that cache would still hold.
    pub conflict: u64,
    /// A store of another core had removed it; in an exclusive L3 also: it had moved to an L2.
    pub coherence: u64,
    /// An inclusive outer level had lost it, and removed it from this cache.
    pub inclusion: u64,
}

impl Causes {
    /// Returns the sum over all causes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.cold + self.capacity + self.conflict + self.coherence + self.inclusion
    }

    /// Returns the misses of each cause with its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("cold", self.cold),
            ("capacity", self.capacity),
            ("conflict", self.conflict),
            ("coherence", self.coherence),
            ("inclusion", self.inclusion),
        ]
    }

    /// Counts a miss; `would_hit` says whether the fully associative cache holds the line.
    #[inline]
    pub(crate) fn count(&mut self, cause: Cause, would_hit: bool) {
        let count = match (cause, would_hit) {
            (Cause::Cold, _) => &mut self.cold,
            (Cause::Capacity, false) => &mut self.capacity,
            (Cause::Capacity, true) => &mut self.conflict,
            (Cause::Coherence, _) => &mut self.coherence,
            (Cause::Inclusion, _) => &mut self.inclusion,
        };
        *count += 1;
    }

    /// Returns the causes in the replay's form, which has no conflicts.
    fn as_replayed(self) -> MissCauses {
        MissCauses {
            cold: self.cold,
            capacity: self.capacity + self.conflict,
            coherence: self.coherence,
            inclusion: self.inclusion,
        }
    }
}

impl AddAssign for Causes {
    fn add_assign(&mut self, other: Causes) {
        self.cold += other.cold;
        self.capacity += other.capacity;
        self.conflict += other.conflict;
        self.coherence += other.coherence;
        self.inclusion += other.inclusion;
    }
}

impl Add for Causes {
    type Output = Causes;

    fn add(mut self, other: Causes) -> Causes {
        self += other;
        self
    }
}

/// Misses of accesses of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missed {
    /// By level.
    pub by_level: [Causes; 3],
    pub transfers: u64,
    pub hit_modified: u64,
    pub invalidated_lines: u64,
}

impl AddAssign for Missed {
    fn add_assign(&mut self, other: Missed) {
        for (own, more) in self.by_level.iter_mut().zip(other.by_level) {
            *own += more;
        }
        self.transfers += other.transfers;
        self.hit_modified += other.hit_modified;
        self.invalidated_lines += other.invalidated_lines;
    }
}

/// The translations of lines, and the cost of their page walks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Misses of the first-level TLBs.
    pub l1_misses: u64,
    pub walks: u64,
    /// Page-table entries read through the L1D.
    pub loads: u64,
    /// Page-table entries read through the L2.
    pub l2_loads: u64,
    pub missed: Missed,
}

impl AddAssign for Walked {
    fn add_assign(&mut self, other: Walked) {
        self.l1_misses += other.l1_misses;
        self.walks += other.walks;
        self.loads += other.loads;
        self.l2_loads += other.l2_loads;
        self.missed += other.missed;
    }
}

/// The cost of a part of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Lines accessed, by kind.
    accesses: [u64; 3],
    /// By kind.
    missed: [Missed; 3],
    hops: u64,
    /// Misses of the first-level TLBs.
    l1_tlb_misses: u64,
    walks: u64,
    /// Loads of page walks that begin at the L2.
    l2_loads: u64,
}

impl Cost {
    /// Adds accesses of one kind.
    pub(crate) fn add(&mut self, kind: Kind, accesses: u64, missed: Missed) {
        self.accesses[kind as usize] += accesses;
        self.missed[kind as usize] += missed;
    }

    /// Adds hops, which belong to the code that made them.
    pub(crate) fn add_hops(&mut self, hops: u64) {
        self.hops += hops;
    }

    /// Adds translations and the loads of their walks.
    pub(crate) fn add_walked(&mut self, walked: &Walked) {
        self.add(Kind::Load, walked.loads, walked.missed);
        self.l1_tlb_misses += walked.l1_misses;
        self.walks += walked.walks;
        self.l2_loads += walked.l2_loads;
    }

    /// Returns the lookups that all first-level TLBs missed; zero without translation.
    #[must_use]
    pub fn l1_tlb_misses(&self) -> u64 {
        self.l1_tlb_misses
    }

    /// Returns the number of page walks; zero without translation.
    #[must_use]
    pub fn walks(&self) -> u64 {
        self.walks
    }

    /// Returns the number of lines accessed.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.accesses.iter().sum()
    }

    /// Returns the number of lines accessed by accesses of one kind.
    #[must_use]
    pub fn accesses_of(&self, kind: Kind) -> u64 {
        self.accesses[kind as usize]
    }

    /// Returns the causes of a level's misses: of fetches, loads, and stores together.
    #[must_use]
    pub fn causes(&self, level: Level) -> Causes {
        let of_kinds = self.missed.iter();
        let of_kinds = of_kinds.map(|missed| missed.by_level[level as usize]);
        of_kinds.fold(Causes::default(), Add::add)
    }

    /// Returns the causes of the L1I's misses, for fetches.
    #[must_use]
    pub fn fetch_causes(&self) -> Causes {
        self.missed[Kind::Fetch as usize].by_level[Level::L1 as usize]
    }

    /// Returns the causes of the L1D's misses, for loads and stores.
    #[must_use]
    pub fn data_causes(&self) -> Causes {
        let [_, load, store] = self
            .missed
            .map(|missed| missed.by_level[Level::L1 as usize]);
        load + store
    }

    /// Returns the number of lines not found at a level.
    #[must_use]
    pub fn misses(&self, level: Level) -> u64 {
        self.causes(level).total()
    }

    /// Returns the counters of a replay on `machine`, which counts conflicts as capacity misses.
    #[must_use]
    pub fn counters(&self, machine: &Machine) -> Counters {
        let level = |accesses: [u64; 3], level: Level, of: [bool; 3]| {
            let kind = |kind: usize| match of[kind] {
                true => KindCounters {
                    accesses: accesses[kind],
                    misses: self.missed[kind].by_level[level as usize].as_replayed(),
                },
                false => KindCounters::default(),
            };
            LevelCounters {
                fetch: kind(0),
                load: kind(1),
                store: kind(2),
            }
        };
        let missed = |level: Level| self.missed.map(|of| of.by_level[level as usize].total());
        let [fetches, loads, stores] = missed(Level::L1);
        let l2_accesses = [fetches, loads + self.l2_loads, stores];
        let all = [true; 3];
        let of_kinds = |count: fn(&Missed) -> u64| self.missed.iter().map(count).sum();
        let mut counters = Counters {
            l1i: level(self.accesses, Level::L1, [true, false, false]),
            l1d: level(self.accesses, Level::L1, [false, true, true]),
            l2: level(l2_accesses, Level::L2, all),
            l3: match machine.l3 {
                Some(_) => level(missed(Level::L2), Level::L3, all),
                None => LevelCounters::default(),
            },
            transfers: of_kinds(|missed| missed.transfers),
            hit_modified: of_kinds(|missed| missed.hit_modified),
            invalidated_lines: of_kinds(|missed| missed.invalidated_lines),
            cycles: 0,
        };
        counters.cycles = counters.cycles_on(machine, self.hops);
        counters
    }

    /// Estimates cycles: the latency of the level that served each access, and hops.
    #[must_use]
    pub fn cycles(&self, machine: &Machine) -> u64 {
        self.counters(machine).cycles
    }

    /// Estimates the cycles that L2 misses add: those that would go if each was an L2 hit.
    #[must_use]
    pub fn cycles_of_l2_misses(&self, machine: &Machine) -> u64 {
        let counters = self.counters(machine);
        let all_hit = [
            (counters.l1i.hits(), machine.l1i.latency_cycles),
            (counters.l1d.hits(), machine.l1d.latency_cycles),
            (counters.l2.accesses(), machine.l2.latency_cycles),
            (self.hops, machine.hop_cost_cycles),
        ];
        let all_hit = all_hit.map(|(count, cycles)| count * u64::from(cycles));
        counters.cycles.saturating_sub(all_hit.iter().sum())
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        for (kind, (own, missed)) in self.accesses.iter_mut().zip(&mut self.missed).enumerate() {
            *own += other.accesses[kind];
            *missed += other.missed[kind];
        }
        self.hops += other.hops;
        self.l1_tlb_misses += other.l1_tlb_misses;
        self.walks += other.walks;
        self.l2_loads += other.l2_loads;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), |mut sum, cost| {
            sum += cost;
            sum
        })
    }
}
