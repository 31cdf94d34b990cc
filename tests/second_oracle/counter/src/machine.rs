//! Machines to simulate, and the files that describe them to corehop.

use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Lru,
    Fifo,
    Plru,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    Inclusive,
    NonInclusive,
    Exclusive,
}

#[derive(Clone, Debug)]
pub struct Level {
    pub sets: usize,
    pub ways: usize,
    pub latency: u64,
    pub policy: Policy,
    pub inclusion: Inclusion,
    pub shared_by: usize,
}

/// Returns an inclusive LRU level of one core with this number of sets and ways.
pub fn level(sets: usize, ways: usize, latency: u64) -> Level {
    Level {
        sets,
        ways,
        latency,
        policy: Policy::Lru,
        inclusion: Inclusion::Inclusive,
        shared_by: 1,
    }
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub cores: usize,
    pub l1i: Level,
    pub l1d: Level,
    pub l2: Level,
    pub l3: Option<Level>,
    pub memory_latency: u64,
    /// The value in the file, if it is there.
    pub transfer_latency: Option<u64>,
    pub hop_cost: u64,
}

impl Machine {
    /// Returns four cores with caches so small that each of them replaces lines.
    pub fn small(name: &str) -> Machine {
        Machine {
            name: name.into(),
            cores: 4,
            l1i: level(16, 4, 3),
            l1d: level(16, 4, 4),
            l2: level(32, 8, 12),
            l3: Some(level(100, 6, 40)),
            memory_latency: 200,
            transfer_latency: Some(70),
            hop_cost: 9_000,
        }
    }

    /// Returns the same machine with this policy at every level.
    pub fn with_policy(mut self, policy: Policy) -> Machine {
        for level in [&mut self.l1i, &mut self.l1d, &mut self.l2] {
            level.policy = policy;
        }
        if let Some(l3) = &mut self.l3 {
            l3.policy = policy;
            l3.ways = if policy == Policy::Plru { 8 } else { l3.ways };
        }
        self
    }

    /// Returns the same machine with this inclusion of L2 and L3.
    pub fn with_inclusion(mut self, l2: Inclusion, l3: Inclusion) -> Machine {
        self.l2.inclusion = l2;
        self.l3.as_mut().expect("an L3").inclusion = l3;
        self
    }

    /// Returns the same machine with these levels shared by neighboring cores.
    pub fn with_shared(mut self, l1i: usize, l1d: usize, l2: usize) -> Machine {
        self.l1i.shared_by = l1i;
        self.l1d.shared_by = l1d;
        self.l2.shared_by = l2;
        self
    }

    /// Returns a random machine with caches small enough to replace lines.
    pub fn random(name: &str, random: &mut crate::random::Random) -> Machine {
        let policies = [Policy::Lru, Policy::Fifo, Policy::Plru, Policy::Random];
        let mut some = |sets: usize, latency: u64| {
            let policy = random.one_of(&policies);
            let ways = match policy {
                Policy::Plru => 1 << random.below(5),
                _ => 1 + random.below(12),
            };
            Level {
                policy,
                ..level(sets << random.below(4), ways, latency)
            }
        };
        let (l1i, l1d, mut l2, mut l3) = (some(2, 3), some(2, 4), some(16, 12), some(64, 40));
        let inner = [Inclusion::Inclusive, Inclusion::NonInclusive];
        l2.inclusion = random.one_of(&inner);
        l3.inclusion = random.one_of(&[inner[0], inner[1], Inclusion::Exclusive]);
        l3.sets += random.below(64);
        make_room(&mut l2, &[&l1i, &l1d]);
        make_room(&mut l3, &[&l2]);
        let machine = Machine {
            l1i,
            l1d,
            l2,
            l3: (random.below(5) > 0).then_some(l3),
            transfer_latency: (random.below(2) > 0).then_some(55),
            ..Machine::small(name)
        };
        let l2_shared_by = 1 << random.below(3);
        let l1_shared_by = |random: &mut crate::random::Random| match random.below(2) {
            0 => 1,
            _ => 2.min(l2_shared_by),
        };
        let l1i_shared_by = l1_shared_by(random);
        machine.with_shared(l1i_shared_by, l1_shared_by(random), l2_shared_by)
    }

    /// Writes the file that describes it, in the format of docs/reference/machines.md.
    pub fn write_into(&self, folder: &Path) -> PathBuf {
        let mut text = format!(
            "name = \"{}\"\ncores = {}\nline_size_bytes = 64\nmemory_latency_cycles = {}\n\
             hop_cost_cycles = {}\n",
            self.name, self.cores, self.memory_latency, self.hop_cost
        );
        if let Some(cycles) = self.transfer_latency {
            writeln!(text, "transfer_latency_cycles = {cycles}").unwrap();
        }
        let levels = [
            ("l1i", Some(&self.l1i)),
            ("l1d", Some(&self.l1d)),
            ("l2", Some(&self.l2)),
            ("l3", self.l3.as_ref()),
        ];
        for (name, level) in levels {
            if let Some(level) = level {
                write_level(&mut text, name, level);
            }
        }
        let path = folder.join(format!("{}.toml", self.name));
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// Enlarges an inclusive level to at least the size of each level above it.
fn make_room(level: &mut Level, above: &[&Level]) {
    let lines = |level: &Level| level.sets * level.ways;
    let most = above.iter().map(|above| lines(above)).max();
    while level.inclusion == Inclusion::Inclusive && Some(lines(level)) < most {
        level.sets *= 2;
    }
}

fn write_level(text: &mut String, name: &str, level: &Level) {
    let policy = match level.policy {
        Policy::Lru => "lru",
        Policy::Fifo => "fifo",
        Policy::Plru => "plru",
        Policy::Random => "random",
    };
    let inclusion = match level.inclusion {
        Inclusion::Inclusive => "inclusive",
        Inclusion::NonInclusive => "non-inclusive",
        Inclusion::Exclusive => "exclusive",
    };
    let (size, ways, latency) = (level.sets * level.ways * 64, level.ways, level.latency);
    writeln!(
        text,
        "[{name}]\nsize_bytes = {size}\nways = {ways}\nlatency_cycles = {latency}\n\
         policy = \"{policy}\""
    )
    .unwrap();
    if name == "l2" || name == "l3" {
        writeln!(text, "inclusion = \"{inclusion}\"").unwrap();
    }
    if name != "l3" {
        writeln!(text, "shared_by = {}", level.shared_by).unwrap();
    }
}
