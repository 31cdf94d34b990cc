//! One cache, as docs/reference/machines.md describes it: sets that are searched, and lists in the
//! order of use.
//!
//! Under LRU and FIFO, a set is a list whose first line is replaced: LRU moves a hit line to the
//! end, FIFO does not. Under tree-PLRU, a set is a row of ways and a tree of bits. Under random
//! replacement, it is a row of ways and the number of replaced lines.

use crate::machine::{Level, Policy};
use std::collections::HashMap;

/// Why a line is not in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Cold,
    Capacity,
    Coherence,
    Inclusion,
}

pub struct Cache {
    sets: Vec<Set>,
    policy: Policy,
    ways: usize,
    /// What last removed each line.
    removed: HashMap<u64, Cause>,
}

#[derive(Clone)]
enum Set {
    List(Vec<u64>),
    Tree {
        ways: Vec<Option<u64>>,
        /// Whether the upper half is replaced next: the root is at 1, and the halves below bit `n`
        /// are at `2 n` and `2 n + 1`.
        upper_next: Vec<bool>,
    },
    Random {
        ways: Vec<Option<u64>>,
        replaced: u64,
    },
}

impl Cache {
    pub fn new(level: &Level) -> Cache {
        let empty = match level.policy {
            Policy::Lru | Policy::Fifo => Set::List(Vec::new()),
            Policy::Plru => Set::Tree {
                ways: vec![None; level.ways],
                upper_next: vec![false; level.ways],
            },
            Policy::Random => Set::Random {
                ways: vec![None; level.ways],
                replaced: 0,
            },
        };
        Cache {
            sets: vec![empty; level.sets],
            policy: level.policy,
            ways: level.ways,
            removed: HashMap::new(),
        }
    }

    fn set(&mut self, line: u64) -> &mut Set {
        let count = self.sets.len() as u64;
        &mut self.sets[(line % count) as usize]
    }

    pub fn holds(&self, line: u64) -> bool {
        match &self.sets[(line % self.sets.len() as u64) as usize] {
            Set::List(lines) => lines.contains(&line),
            Set::Tree { ways, .. } | Set::Random { ways, .. } => ways.contains(&Some(line)),
        }
    }

    /// Looks a line up: a hit counts as a use, and a miss has a cause.
    pub fn look_up(&mut self, line: u64) -> Result<(), Cause> {
        let moves = self.policy == Policy::Lru;
        let hit = match self.set(line) {
            Set::List(lines) => {
                let place = lines.iter().position(|&held| held == line);
                if let (true, Some(place)) = (moves, place) {
                    lines[place..].rotate_left(1);
                }
                place.is_some()
            }
            Set::Tree { ways, upper_next } => {
                let way = ways.iter().position(|&held| held == Some(line));
                way.inspect(|&way| point_away(upper_next, way)).is_some()
            }
            Set::Random { ways, .. } => ways.contains(&Some(line)),
        };
        let cause = || self.removed.get(&line).copied().unwrap_or(Cause::Cold);
        if hit { Ok(()) } else { Err(cause()) }
    }

    /// Adds a line that is not in the cache; returns the line that it replaces.
    pub fn fill(&mut self, line: u64) -> Option<u64> {
        let most = self.ways;
        let replaced = match self.set(line) {
            Set::List(lines) => {
                let replaced = (lines.len() == most).then(|| lines.remove(0));
                lines.push(line);
                replaced
            }
            Set::Tree { ways, upper_next } => {
                let empty = ways.iter().position(Option::is_none);
                let way = empty.unwrap_or_else(|| pointed_to(upper_next));
                point_away(upper_next, way);
                ways[way].replace(line)
            }
            Set::Random { ways, replaced } => {
                let empty = ways.iter().position(Option::is_none);
                let way = empty.unwrap_or_else(|| {
                    *replaced += 1;
                    (split_mix_64(*replaced) % most as u64) as usize
                });
                ways[way].replace(line)
            }
        };
        if let Some(replaced) = replaced {
            self.removed.insert(replaced, Cause::Capacity);
        }
        replaced
    }

    /// Removes a line, if it is in the cache; returns whether it was.
    pub fn remove(&mut self, line: u64, cause: Cause) -> bool {
        let held = self.holds(line);
        if held {
            match self.set(line) {
                Set::List(lines) => lines.retain(|&held| held != line),
                Set::Tree { ways, .. } | Set::Random { ways, .. } => {
                    let way = ways.iter_mut().find(|held| **held == Some(line));
                    *way.unwrap() = None;
                }
            }
            self.removed.insert(line, cause);
        }
        held
    }
}

/// Returns number `n` of SplitMix64 from seed 0, counted from 1.
fn split_mix_64(n: u64) -> u64 {
    let mix = |z: u64, shift: u32, factor: u64| (z ^ z >> shift).wrapping_mul(factor);
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = mix(mix(z, 30, 0xbf58_476d_1ce4_e5b9), 27, 0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Sets the bits on the way's path to the halves without it.
fn point_away(upper_next: &mut [bool], way: usize) {
    let (mut node, mut half) = (1, upper_next.len() / 2);
    let mut within = way;
    while half > 0 {
        let upper = within >= half;
        upper_next[node] = !upper;
        within -= if upper { half } else { 0 };
        (node, half) = (2 * node + usize::from(upper), half / 2);
    }
}

/// Follows the bits from the root to a way.
fn pointed_to(upper_next: &[bool]) -> usize {
    let (mut node, mut half, mut way) = (1, upper_next.len() / 2, 0);
    while half > 0 {
        let upper = upper_next[node];
        way += if upper { half } else { 0 };
        (node, half) = (2 * node + usize::from(upper), half / 2);
    }
    way
}
