//! Fully associative LRU caches that run along with the simulated caches.
//!
//! Hill and Smith call a miss a *conflict* if a fully associative LRU cache of the same size would
//! have hit ("Evaluating associativity in CPU caches", 1989). Each simulated cache has such a
//! counterpart, which receives exactly its accesses. It loses no lines to stores of other cores,
//! because these misses already have a cause. Lines are in a list ordered by last access, so every
//! access takes constant time.

use crate::cost::Level;
use corehop_simulator::{LineId, Machine};
use corehop_traces::Kind;

/// Stands for no line or no place.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    line: u32,
    newer: u32,
    older: u32,
}

/// One such cache.
pub(crate) struct FullyAssociative {
    /// By line: its entry, or [`NONE`].
    place: Vec<u32>,
    entries: Vec<Entry>,
    capacity: usize,
    newest: u32,
    oldest: u32,
}

impl FullyAssociative {
    /// Creates an empty cache with room for this many lines, at least one.
    pub fn new(lines: u64) -> FullyAssociative {
        FullyAssociative {
            place: Vec::new(),
            entries: Vec::new(),
            capacity: lines.max(1) as usize,
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Accesses a line, and returns whether the cache held it.
    #[inline]
    pub fn access(&mut self, line: LineId) -> bool {
        if let Some(newest) = self.entries.get(self.newest as usize)
            && newest.line == line.0
        {
            return true;
        }
        self.access_another(line)
    }

    fn access_another(&mut self, LineId(line): LineId) -> bool {
        if line as usize >= self.place.len() {
            self.place.resize(line as usize + 1, NONE);
        }
        let place = self.place[line as usize];
        let place = match place {
            NONE => self.room(),
            _ => {
                self.take_out(place);
                place
            }
        };
        let was_there = self.place[line as usize] != NONE;
        self.place[line as usize] = place;
        self.entries[place as usize] = Entry {
            line,
            newer: NONE,
            older: self.newest,
        };
        match self.newest {
            NONE => self.oldest = place,
            newest => self.entries[newest as usize].newer = place,
        }
        self.newest = place;
        was_there
    }

    /// Returns an entry that is not in the list: a new one, or that of the oldest line.
    fn room(&mut self) -> u32 {
        if self.entries.len() < self.capacity {
            self.entries.push(Entry {
                line: NONE,
                newer: NONE,
                older: NONE,
            });
            return self.entries.len() as u32 - 1;
        }
        let place = self.oldest;
        self.place[self.entries[place as usize].line as usize] = NONE;
        self.take_out(place);
        place
    }

    fn take_out(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
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
            capacity in 1u64..6,
            lines in prop::collection::vec(0u32..9, 0..200),
        ) {
            let mut cache = FullyAssociative::new(capacity);
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
