//! The model once more, as slow and obvious as it can be said, to hold the simulator against.
//!
//! It shares nothing with the simulator but the machine's description and the counters' fields:
//! sets are lists with the most recently used line last, and every store asks every core.

#![allow(dead_code)] // Each test uses its part of the oracle.

use corehop_simulator::{Counters, Level, Machine};
use corehop_traces::Kind;
use std::collections::HashMap;

/// One level: a list of lines for each set, least recently used first.
struct Cache {
    ways: usize,
    sets: Vec<Vec<u64>>,
}

impl Cache {
    fn new(level: Level) -> Cache {
        let sets = level.size_bytes / 64 / u64::from(level.ways);
        Cache {
            ways: level.ways as usize,
            sets: vec![Vec::new(); sets as usize],
        }
    }

    fn set(&mut self, line: u64) -> &mut Vec<u64> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(line % sets) as usize]
    }

    fn remove(&mut self, line: u64) -> bool {
        let set = self.set(line);
        let before = set.len();
        set.retain(|&held| held != line);
        set.len() < before
    }

    fn hit(&mut self, line: u64) -> bool {
        let held = self.remove(line);
        if held {
            self.set(line).push(line);
        }
        held
    }

    fn fill(&mut self, line: u64) -> Option<u64> {
        let ways = self.ways;
        let set = self.set(line);
        set.push(line);
        (set.len() > ways).then(|| set.remove(0))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Lost {
    ToOwnAccess,
    ToRemoteStore,
    ToL3,
}

struct Core {
    l1i: Cache,
    l1d: Cache,
    l2: Cache,
    lost: HashMap<u64, Lost>,
    counters: Counters,
}

impl Core {
    fn lose(&mut self, line: u64, why: Lost) -> bool {
        let held = self.l2.remove(line);
        self.l1i.remove(line);
        self.l1d.remove(line);
        if held {
            self.lost.insert(line, why);
        }
        held
    }
}

/// A whole machine.
pub struct Oracle {
    machine: Machine,
    cores: Vec<Core>,
    l3: Cache,
}

impl Oracle {
    pub fn new(machine: &Machine, cores_used: u32) -> Oracle {
        let core = |_| Core {
            l1i: Cache::new(machine.l1i),
            l1d: Cache::new(machine.l1d),
            l2: Cache::new(machine.l2),
            lost: HashMap::new(),
            counters: Counters::default(),
        };
        Oracle {
            machine: machine.clone(),
            cores: (0..cores_used).map(core).collect(),
            l3: Cache::new(machine.l3.unwrap()),
        }
    }

    /// One core touches bytes `address .. address + size_bytes`.
    pub fn touch(&mut self, core: usize, kind: Kind, address: u64, size_bytes: u64) {
        for line in address / 64..=(address + size_bytes - 1) / 64 {
            self.access(core, kind, line);
        }
    }

    pub fn access(&mut self, core: usize, kind: Kind, line: u64) {
        let latency_cycles = self.serve(core, kind, line);
        self.cores[core].counters.cycles += u64::from(latency_cycles);
        if kind == Kind::Store {
            for other in 0..self.cores.len() {
                if other != core && self.cores[other].lose(line, Lost::ToRemoteStore) {
                    self.cores[other].counters.invalidated_lines += 1;
                }
            }
        }
    }

    fn serve(&mut self, core: usize, kind: Kind, line: u64) -> u32 {
        let me = &mut self.cores[core];
        let fetch = kind == Kind::Fetch;
        let (l1, l1_counters, l1_level) = if fetch {
            (&mut me.l1i, &mut me.counters.l1i, self.machine.l1i)
        } else {
            (&mut me.l1d, &mut me.counters.l1d, self.machine.l1d)
        };
        l1_counters.accesses += 1;
        if l1.hit(line) {
            return l1_level.latency_cycles;
        }
        l1_counters.misses += 1;
        me.counters.l2.accesses += 1;
        if me.l2.hit(line) {
            l1.fill(line);
            return self.machine.l2.latency_cycles;
        }
        me.count_l2_miss(fetch, line);
        me.counters.l3.accesses += 1;
        let latency_cycles = if self.l3.hit(line) {
            self.machine.l3.unwrap().latency_cycles
        } else {
            me.counters.l3.misses += 1;
            if fetch {
                me.counters.l3.fetch_misses += 1;
            } else {
                me.counters.l3.data_misses += 1;
            }
            if let Some(replaced) = self.l3.fill(line) {
                for core in &mut self.cores {
                    core.lose(replaced, Lost::ToL3);
                }
            }
            self.machine.memory_latency_cycles
        };
        self.cores[core].bring_in(fetch, line);
        latency_cycles
    }

    /// Cycles that a core spends on something other than an access.
    pub fn charge(&mut self, core: usize, cycles: u32) {
        self.cores[core].counters.cycles += u64::from(cycles);
    }

    pub fn start_counting(&mut self) {
        for core in &mut self.cores {
            core.counters = Counters::default();
        }
    }

    pub fn counters(&self) -> Vec<Counters> {
        self.cores.iter().map(|core| core.counters).collect()
    }
}

impl Core {
    fn count_l2_miss(&mut self, fetch: bool, line: u64) {
        let l2 = &mut self.counters.l2;
        l2.misses += 1;
        let causes = if fetch {
            l2.fetch_misses += 1;
            &mut l2.fetch_causes
        } else {
            l2.data_misses += 1;
            &mut l2.data_causes
        };
        match self.lost.get(&line) {
            None => causes.cold += 1,
            Some(Lost::ToOwnAccess) => causes.capacity += 1,
            Some(Lost::ToL3) => causes.inclusion += 1,
            Some(Lost::ToRemoteStore) => {
                causes.coherence += 1;
                l2.coherence_misses += 1;
            }
        }
    }

    fn bring_in(&mut self, fetch: bool, line: u64) {
        if let Some(replaced) = self.l2.fill(line) {
            self.l1i.remove(replaced);
            self.l1d.remove(replaced);
            self.lost.insert(replaced, Lost::ToOwnAccess);
        }
        if fetch {
            self.l1i.fill(line);
        } else {
            self.l1d.fill(line);
        }
    }
}
