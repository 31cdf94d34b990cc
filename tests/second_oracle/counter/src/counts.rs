//! The counts, and their form in `corehop replay --json` (`corehop schema replay`).

use crate::cache::Cause;
use crate::exported::Kind;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub l1i: Level,
    pub l1d: Level,
    pub l2: Level,
    pub l3: Level,
    pub transfers: u64,
    pub hit_modified: u64,
    pub invalidated_lines: u64,
    pub cycles: u64,
}

/// Replaced lines at each level, by the mode that used them and the mode that replaced them.
#[derive(Clone, Debug, Default)]
pub struct Replaced(BTreeMap<(&'static str, usize, usize), u64>);

impl Replaced {
    pub fn count(&mut self, level: &'static str, whose: usize, by: usize) {
        *self.0.entry((level, whose, by)).or_default() += 1;
    }

    pub fn to_json(&self) -> Value {
        let of = |level, whose, by| self.0.get(&(level, whose, by)).copied().unwrap_or(0);
        let of_level = |level| {
            json!({
                "user_by_user": of(level, 0, 0),
                "kernel_by_user": of(level, 1, 0),
                "user_by_kernel": of(level, 0, 1),
                "kernel_by_kernel": of(level, 1, 1),
            })
        };
        let levels = ["l1i", "l1d", "l2", "l3"].map(|level| (level.into(), of_level(level)));
        Map::from_iter(levels).into()
    }
}

/// Counts by kind of access: fetches, loads, stores.
#[derive(Clone, Debug, Default)]
pub struct Level([Lookups; 3]);

#[derive(Clone, Copy, Debug, Default)]
struct Lookups {
    hits: u64,
    cold: u64,
    capacity: u64,
    coherence: u64,
    inclusion: u64,
}

impl Counts {
    /// Returns the counts of the L1 for this kind of access.
    pub fn l1(&mut self, kind: Kind) -> &mut Level {
        match kind {
            Kind::Fetch => &mut self.l1i,
            Kind::Load | Kind::Store => &mut self.l1d,
        }
    }

    /// Returns the sum of both.
    pub fn plus(mut self, other: &Counts) -> Counts {
        self.l1i.add(&other.l1i);
        self.l1d.add(&other.l1d);
        self.l2.add(&other.l2);
        self.l3.add(&other.l3);
        self.transfers += other.transfers;
        self.hit_modified += other.hit_modified;
        self.invalidated_lines += other.invalidated_lines;
        self.cycles += other.cycles;
        self
    }

    /// Returns the number of accessed lines.
    pub fn accesses(&self) -> u64 {
        let levels = [&self.l1i, &self.l1d];
        levels.iter().map(|level| level.sum(Lookups::all)).sum()
    }

    pub fn to_json(&self) -> Value {
        json!({
            "l1i": self.l1i.to_json(),
            "l1d": self.l1d.to_json(),
            "l2": self.l2.to_json(),
            "l3": self.l3.to_json(),
            "transfers": self.transfers,
            "hit_modified": self.hit_modified,
            "invalidated_lines": self.invalidated_lines,
            "cycles": self.cycles,
        })
    }
}

impl Level {
    pub fn hit(&mut self, kind: Kind) {
        self.0[kind as usize].hits += 1;
    }

    pub fn miss(&mut self, kind: Kind, cause: Cause) {
        let lookups = &mut self.0[kind as usize];
        *match cause {
            Cause::Cold => &mut lookups.cold,
            Cause::Capacity => &mut lookups.capacity,
            Cause::Coherence => &mut lookups.coherence,
            Cause::Inclusion => &mut lookups.inclusion,
        } += 1;
    }

    fn add(&mut self, other: &Level) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            sum.hits += more.hits;
            sum.cold += more.cold;
            sum.capacity += more.capacity;
            sum.coherence += more.coherence;
            sum.inclusion += more.inclusion;
        }
    }

    fn sum(&self, of: impl Fn(&Lookups) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }

    fn to_json(&self) -> Value {
        let [fetch, load, store] = &self.0;
        let mut keys = Map::new();
        let sums = [
            ("accesses", self.sum(Lookups::all)),
            ("hits", self.sum(|kind| kind.hits)),
            ("misses", self.sum(Lookups::misses)),
            ("fetch_misses", fetch.misses()),
            ("data_misses", load.misses() + store.misses()),
            ("coherence_misses", self.sum(|kind| kind.coherence)),
        ];
        keys.extend(sums.map(|(key, sum)| (key.into(), sum.into())));
        for (key, kind) in [("fetch", fetch), ("load", load), ("store", store)] {
            keys.insert(key.into(), kind.to_json());
        }
        keys.into()
    }
}

impl Lookups {
    fn misses(&self) -> u64 {
        self.cold + self.capacity + self.coherence + self.inclusion
    }

    fn all(&self) -> u64 {
        self.hits + self.misses()
    }

    fn to_json(self) -> Value {
        json!({
            "accesses": self.all(),
            "hits": self.hits,
            "misses": self.misses(),
            "cold": self.cold,
            "capacity": self.capacity,
            "coherence": self.coherence,
            "inclusion": self.inclusion,
        })
    }
}
