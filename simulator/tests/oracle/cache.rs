//! One cache as lists: its lines in order of age, or by way, optionally with a tree of arrows.
//!
//! It records the cause of every lost line, and searches everything each time.

use corehop_simulator::{Level, MissCauses, Policy};
use std::collections::HashMap;
use std::rc::Rc;

/// Maps each page to the page whose sets it uses, by number.
pub type PageMap = Rc<dyn Fn(u64) -> u64>;

#[derive(Clone, Copy, PartialEq)]
pub enum Lost {
    Replacement,
    Store,
    OuterLevel,
}

pub struct Cache {
    level: Level,
    sets: Vec<Set>,
    lost: HashMap<u64, Lost>,
    /// The page whose sets each page uses, if it differs.
    page_map: Option<PageMap>,
}

/// A set in queue order, oldest first; or by way, with the arrow of each subtree of ways.
#[derive(Clone)]
enum Set {
    Queue(Vec<u64>),
    Tree {
        ways: Vec<Option<u64>>,
        /// By first way and number of ways of a subtree: whether it points to its upper half.
        points_up: HashMap<(usize, usize), bool>,
    },
    Random {
        ways: Vec<Option<u64>>,
        replaced: u64,
    },
}

impl Cache {
    pub fn new(level: Level) -> Cache {
        let sets = level.size_bytes / 64 / u64::from(level.ways);
        let set = match level.policy {
            Policy::Lru | Policy::Fifo => Set::Queue(Vec::new()),
            Policy::Plru => Set::Tree {
                ways: vec![None; level.ways as usize],
                points_up: HashMap::new(),
            },
            Policy::Random => Set::Random {
                ways: vec![None; level.ways as usize],
                replaced: 0,
            },
        };
        Cache {
            level,
            sets: vec![set; sets as usize],
            lost: HashMap::new(),
            page_map: None,
        }
    }

    /// Places pages in the sets that this map defines.
    pub fn map_pages(&mut self, map: &PageMap) {
        self.page_map = Some(Rc::clone(map));
    }

    fn set(&mut self, line: u64) -> &mut Set {
        let sets = self.sets.len() as u128;
        let line = match &self.page_map {
            Some(map) => u128::from(map(line / 64)) * 64 + u128::from(line % 64),
            None => line.into(),
        };
        &mut self.sets[(line % sets) as usize]
    }

    pub fn holds(&mut self, line: u64) -> bool {
        match self.set(line) {
            Set::Queue(lines) => lines.contains(&line),
            Set::Tree { ways, .. } | Set::Random { ways, .. } => ways.contains(&Some(line)),
        }
    }

    /// Uses the line if it is there; returns whether it is.
    pub fn hit(&mut self, line: u64) -> bool {
        if !self.holds(line) {
            return false;
        }
        let policy = self.level.policy;
        match self.set(line) {
            Set::Queue(lines) if policy == Policy::Lru => {
                lines.retain(|&held| held != line);
                lines.push(line);
            }
            Set::Queue(_) | Set::Random { .. } => (),
            Set::Tree { ways, points_up } => {
                let way = ways.iter().position(|&held| held == Some(line));
                point_away(points_up, way.unwrap(), 0, ways.len());
            }
        }
        true
    }

    /// Puts a line that just came in front of the newer half of the others, if the policy is LRU.
    pub fn age_by_half(&mut self, line: u64) {
        let policy = self.level.policy;
        if let (Set::Queue(lines), Policy::Lru) = (self.set(line), policy) {
            lines.retain(|&held| held != line);
            lines.insert(lines.len().div_ceil(2), line);
        }
    }

    /// Adds the line; returns the replaced one.
    pub fn fill(&mut self, line: u64) -> Option<u64> {
        let room = self.level.ways as usize;
        let victim = match self.set(line) {
            Set::Queue(lines) => {
                lines.push(line);
                (lines.len() > room).then(|| lines.remove(0))
            }
            Set::Tree { ways, points_up } => {
                let empty = ways.iter().position(|held| held.is_none());
                let way = empty.unwrap_or_else(|| follow(points_up, 0, room));
                point_away(points_up, way, 0, room);
                ways[way].replace(line)
            }
            Set::Random { ways, replaced } => {
                let empty = ways.iter().position(|held| held.is_none());
                let way = empty.unwrap_or_else(|| {
                    *replaced += 1;
                    (split_mix(*replaced) % room as u64) as usize
                });
                ways[way].replace(line)
            }
        };
        if let Some(victim) = victim {
            self.lost.insert(victim, Lost::Replacement);
        }
        victim
    }

    /// Removes the line, if it is there; returns whether it was.
    pub fn lose(&mut self, line: u64, why: Lost) -> bool {
        let held = self.holds(line);
        if held {
            self.lost.insert(line, why);
        }
        match self.set(line) {
            Set::Queue(lines) => lines.retain(|&held| held != line),
            Set::Tree { ways, .. } | Set::Random { ways, .. } => {
                for way in ways.iter_mut().filter(|way| **way == Some(line)) {
                    *way = None;
                }
            }
        }
        held
    }

    /// Returns the causes of one miss on a line that is not there.
    pub fn cause(&self, line: u64) -> MissCauses {
        let mut causes = MissCauses::default();
        match self.lost.get(&line) {
            None => causes.cold = 1,
            Some(Lost::Replacement) => causes.capacity = 1,
            Some(Lost::Store) => causes.coherence = 1,
            Some(Lost::OuterLevel) => causes.inclusion = 1,
        }
        causes
    }
}

/// Returns the `number`th output of SplitMix64 with seed 0.
fn split_mix(number: u64) -> u64 {
    let mut state = 0u64;
    for _ in 0..number {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Points the arrow of every subtree that contains `way` to the other half.
fn point_away(
    points_up: &mut HashMap<(usize, usize), bool>,
    way: usize,
    first: usize,
    count: usize,
) {
    if count == 1 {
        return;
    }
    let half = count / 2;
    let in_upper = way >= first + half;
    points_up.insert((first, count), !in_upper);
    let first = if in_upper { first + half } else { first };
    point_away(points_up, way, first, half);
}

/// Returns the way that the arrows lead to.
fn follow(points_up: &HashMap<(usize, usize), bool>, first: usize, count: usize) -> usize {
    if count == 1 {
        return first;
    }
    let half = count / 2;
    let up = points_up.get(&(first, count)).copied().unwrap_or(false);
    follow(points_up, if up { first + half } else { first }, half)
}
