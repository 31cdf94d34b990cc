//! Fully associative LRU caches that run along with the simulated caches.
//!
//! Hill and Smith call a miss a *conflict* if a fully associative LRU cache of the same size would
//! have hit ("Evaluating associativity in CPU caches", 1989). Each simulated cache has such a
//! counterpart, which receives exactly its accesses. It loses no lines to stores of other cores,
//! because these misses already have a cause.
//!
//! An access of a line that the cache holds only notes the time. Lines leave in the order of their
//! times, so now and then the oldest quarter is sorted. Each of them leaves in its turn, unless it
//! was accessed since. All others have later times.

use crate::cost::Level;
use corehop_simulator::{LineId, Machine};
use corehop_traces::Kind;

/// The time of no access.
const NEVER: u32 = 0;

/// How many lines are sorted at a time: this part of the cache.
const SORTED_PART: usize = 4;

/// One such cache.
pub(crate) struct FullyAssociative {
    capacity: usize,
    /// The time of the latest access; times are ordered, and have no unit.
    time: u32,
    /// By line: the time of its last access, or [`NEVER`] for a line that the cache does not hold.
    last_access: Vec<u32>,
    /// The oldest lines in the cache when they were last sorted, the oldest last, with the times of
    /// their accesses then.
    oldest: Vec<(u32, u32)>,
    /// The other lines in the cache, with times not later than those of their last accesses.
    others: Vec<(u32, u32)>,
}

impl FullyAssociative {
    /// Creates an empty cache with room for this many lines, at least one.
    pub fn new(lines: u64) -> FullyAssociative {
        FullyAssociative {
            capacity: lines.max(1) as usize,
            time: NEVER,
            last_access: Vec::new(),
            oldest: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Accesses a line, and returns whether the cache held it.
    #[inline]
    pub fn access(&mut self, LineId(line): LineId) -> bool {
        if self.time == u32::MAX {
            self.shorten_times();
        }
        self.time += 1;
        match self.last_access.get_mut(line as usize) {
            Some(last_access) if *last_access != NEVER => {
                *last_access = self.time;
                true
            }
            _ => {
                self.bring(line);
                false
            }
        }
    }

    /// Makes all times as short as their order allows.
    #[cold]
    fn shorten_times(&mut self) {
        self.others.append(&mut self.oldest);
        self.note_times();
        self.others.sort_unstable();
        self.time = self.others.len() as u32;
        for (time, other) in (NEVER + 1..).zip(&mut self.others) {
            self.last_access[other.1 as usize] = time;
            other.0 = time;
        }
    }

    /// Notes when the other lines were accessed last.
    fn note_times(&mut self) {
        for (time, line) in &mut self.others {
            *time = self.last_access[*line as usize];
        }
    }

    /// Brings a line into the cache.
    fn bring(&mut self, line: u32) {
        if line as usize >= self.last_access.len() {
            self.last_access.resize(line as usize + 1, NEVER);
        }
        if self.oldest.len() + self.others.len() == self.capacity {
            self.evict();
        }
        self.last_access[line as usize] = self.time;
        self.others.push((self.time, line));
    }

    /// Evicts the line that was not accessed for the longest time.
    fn evict(&mut self) {
        loop {
            while let Some((time, line)) = self.oldest.pop() {
                let last_access = &mut self.last_access[line as usize];
                if time == *last_access {
                    *last_access = NEVER;
                    return;
                }
                self.others.push((time, line));
            }
            self.sort_oldest();
        }
    }

    /// Sorts the oldest lines of a cache that has none sorted.
    fn sort_oldest(&mut self) {
        self.note_times();
        let sorted = self.others.len().div_ceil(SORTED_PART);
        let younger = self.others.len() - sorted;
        // The latest times come first.
        self.others
            .select_nth_unstable_by(younger, |one, other| other.cmp(one));
        self.oldest.extend(self.others.drain(younger..));
        self.oldest.sort_unstable_by(|one, other| other.cmp(one));
    }
}

/// One level: one instance for each of the machine's.
struct Instances {
    all: Vec<FullyAssociative>,
    /// By core.
    of_core: Vec<usize>,
}

impl Instances {
    fn new(level: &corehop_simulator::Level, cores: u32) -> Instances {
        let of_core = |core: u32| (core / level.shared_by.max(1)) as usize;
        let lines = level.size_bytes / 64;
        let count = of_core(cores.max(1) - 1) + 1;
        Instances {
            all: (0..count).map(|_| FullyAssociative::new(lines)).collect(),
            of_core: (0..cores).map(of_core).collect(),
        }
    }

    #[inline]
    fn access(&mut self, core: usize, line: LineId) -> bool {
        self.all[self.of_core[core]].access(line)
    }
}

/// The counterparts of all caches of a machine.
pub(crate) struct Beside {
    l1i: Instances,
    l1d: Instances,
    l2: Instances,
    l3: Option<FullyAssociative>,
    /// By level: whether the cache that was accessed last held the line.
    would_hit: [bool; 3],
}

impl Beside {
    /// Creates empty caches for this number of cores.
    pub fn new(machine: &Machine, cores: u32) -> Beside {
        let l3 = machine.l3.as_ref();
        Beside {
            l1i: Instances::new(&machine.l1i, cores),
            l1d: Instances::new(&machine.l1d, cores),
            l2: Instances::new(&machine.l2, cores),
            l3: l3.map(|l3| FullyAssociative::new(l3.size_bytes / 64)),
            would_hit: [false; 3],
        }
    }

    /// Accesses an L1.
    #[inline]
    pub fn access_l1(&mut self, core: usize, kind: Kind, line: LineId) {
        self.would_hit[0] = match kind {
            Kind::Fetch => self.l1i.access(core, line),
            Kind::Load | Kind::Store => self.l1d.access(core, line),
        };
    }

    /// Accesses an L2.
    pub fn access_l2(&mut self, core: usize, line: LineId) {
        self.would_hit[1] = self.l2.access(core, line);
    }

    /// Returns whether the counterpart of a cache that missed held the line. A miss of one level is
    /// an access of the next.
    #[inline]
    pub fn missed(&mut self, level: Level, core: usize, line: LineId) -> bool {
        match level {
            Level::L1 => self.access_l2(core, line),
            Level::L2 => {
                let l3 = self.l3.as_mut();
                self.would_hit[2] = l3.is_some_and(|l3| l3.access(line));
            }
            Level::L3 => {}
        }
        self.would_hit[level as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_is_there_if_few_others_came_since(
            capacity in 1u64..20,
            lines in prop::collection::vec(0u32..29, 0..400),
            // The times may have to be shortened meanwhile.
            left in 0u32..800,
        ) {
            let mut cache = FullyAssociative::new(capacity);
            cache.time = u32::MAX - left;
            let mut stack: Vec<u32> = Vec::new();
            for line in lines {
                let depth = stack.iter().position(|&other| other == line);
                if let Some(depth) = depth {
                    stack.remove(depth);
                }
                stack.insert(0, line);
                let expected = depth.is_some_and(|depth| (depth as u64) < capacity);
                prop_assert_eq!(cache.access(LineId(line)), expected);
            }
        }
    }
}
