//! All splits of a search: k functions on n cores, with at least one function on each core.
//!
//! The canonical form of a split is a choice of functions and a partition of them into exactly as
//! many blocks as there are cores. It is written as a restricted growth string: the first function
//! is on core 0, and each other one is on a core of an earlier one, or on the next. With one core
//! per function, there is one such string: 0 1 2 and so on.

use crate::evaluate::{IndexedPlacement, cores_of};
use rand::Rng;
use rand::RngExt;
use rand::seq::index::sample;
use std::collections::BTreeSet;

/// The space of splits.
#[derive(Clone, Copy)]
pub(super) struct Space {
    /// Number of functions to choose from.
    pub candidates: u32,
    /// Number of functions to choose.
    pub functions: u32,
    /// Number of cores, at most that of functions to choose.
    pub cores: u32,
}

impl Space {
    /// Returns the number of splits, saturating.
    pub fn count(&self) -> u128 {
        let partitions = partitions(self.functions, self.cores);
        combinations(self.candidates.into(), self.functions.into()).saturating_mul(partitions)
    }

    /// Returns a predicate: whether a split with this many chosen and this many undecided functions
    /// can be completed, with one core per function.
    pub fn fits(&self) -> impl Fn(u32, u32) -> bool + use<> {
        let cores = self.cores;
        move |chosen, left| chosen <= cores && chosen + left >= cores
    }

    /// Returns the first split in the order of [`Space::successor`].
    pub fn first(&self) -> IndexedPlacement {
        self.placed(0..self.functions)
    }

    /// Returns these functions as a split, with the first ones together on core 0.
    fn placed(&self, functions: impl Iterator<Item = u32>) -> IndexedPlacement {
        let alone = self.functions - self.cores;
        let core = |place: u32| place.saturating_sub(alone);
        functions.zip((0..).map(core)).collect()
    }

    /// Returns the next split: the same functions on other cores, or else the next functions in
    /// lexicographic order.
    pub fn successor(&self, split: &IndexedPlacement) -> Option<IndexedPlacement> {
        self.other_cores(split)
            .or_else(|| self.other_functions(split))
    }

    fn other_cores(&self, split: &IndexedPlacement) -> Option<IndexedPlacement> {
        let count = split.len();
        for place in (1..count).rev() {
            let used = cores_of(&split[..place]) as u32;
            let core = split[place].1 + 1;
            let blocks = used.max(core + 1);
            let missing = self.cores.saturating_sub(blocks) as usize;
            if core > used || core >= self.cores || missing >= count - place {
                continue;
            }
            let mut next = split.clone();
            next[place].1 = core;
            for (after, slot) in next[place + 1..].iter_mut().enumerate() {
                let left = count - place - 1 - after;
                let is_new = left <= missing;
                slot.1 = if is_new { self.cores - left as u32 } else { 0 };
            }
            return Some(next);
        }
        None
    }

    fn other_functions(&self, split: &IndexedPlacement) -> Option<IndexedPlacement> {
        let limit = |place: usize| self.candidates - self.functions + place as u32;
        let mut places = (0..split.len()).rev();
        let place = places.find(|&place| split[place].0 < limit(place))?;
        let kept = split[..place].iter().map(|&(function, _)| function);
        Some(self.placed(kept.chain(split[place].0 + 1..).take(split.len())))
    }

    /// Returns a split sampled uniformly from all.
    pub fn drawn(&self, random: &mut impl Rng) -> IndexedPlacement {
        let functions = sample(random, self.candidates as usize, self.functions as usize);
        let mut functions: Vec<u32> = functions.iter().map(|function| function as u32).collect();
        functions.sort_unstable();
        // The last of m functions in n blocks is alone in S(m - 1, n - 1) of S(m, n) cases.
        // Otherwise, it is in any of the n blocks of the others; so is the last of those.
        let mut blocks = self.cores;
        let mut placed = IndexedPlacement::new();
        for count in (1..=self.functions).rev() {
            let alone = share_alone(count, blocks);
            let function = functions[count as usize - 1];
            if random.random_bool(alone) {
                blocks -= 1;
                placed.push((function, blocks));
            } else {
                placed.push((function, random.random_range(0..blocks)));
            }
        }
        canonical(placed)
    }

    /// Returns every split that differs from `split` in one function, or in one function's core.
    pub fn neighbours(&self, split: &IndexedPlacement) -> Vec<IndexedPlacement> {
        let mut neighbours = BTreeSet::new();
        let is_chosen = |function: u32| split.iter().any(|&(chosen, _)| chosen == function);
        let others: Vec<u32> = (0..self.candidates).filter(|&f| !is_chosen(f)).collect();
        for (place, &(function, core)) in split.iter().enumerate() {
            let exchanged = others.iter().map(|&other| (other, core));
            let moved = (0..self.cores).map(|core| (function, core));
            for placed in exchanged.chain(moved) {
                let mut neighbour = split.clone();
                neighbour[place] = placed;
                neighbours.insert(canonical(neighbour));
            }
        }
        neighbours.remove(split);
        neighbours.retain(|neighbour| cores_of(neighbour) as u32 == self.cores);
        neighbours.into_iter().collect()
    }
}

/// Returns the canonical form of a split: functions ascending, cores numbered by their first
/// functions.
pub(super) fn canonical(mut split: IndexedPlacement) -> IndexedPlacement {
    split.sort_unstable();
    let mut cores: Vec<u32> = Vec::new();
    for (_, core) in &mut split {
        let number = cores.iter().position(|known| known == core);
        let number = number.unwrap_or_else(|| {
            cores.push(*core);
            cores.len() - 1
        });
        *core = number as u32;
    }
    split
}

/// Returns the number of ways to choose `chosen` of `all`, saturating.
pub fn combinations(all: u64, chosen: u64) -> u128 {
    (0..u128::from(chosen)).fold(1, |product: u128, i| {
        product.saturating_mul(u128::from(all).saturating_sub(i)) / (i + 1)
    })
}

/// Returns the number of ways to put `count` functions into `blocks` non-empty blocks: the Stirling
/// number of the second kind, saturating.
fn partitions(count: u32, blocks: u32) -> u128 {
    let mut numbers = vec![0u128; blocks as usize + 1];
    numbers[0] = 1;
    for _ in 0..count {
        for block in (1..numbers.len()).rev() {
            let joined = numbers[block].saturating_mul(block as u128);
            numbers[block] = joined.saturating_add(numbers[block - 1]);
        }
        numbers[0] = 0;
    }
    numbers[blocks as usize]
}

/// Returns the share of the partitions of `count` functions into `blocks` blocks in which the last
/// is alone.
fn share_alone(count: u32, blocks: u32) -> f64 {
    match blocks {
        0 => 0.0,
        _ if blocks == count => 1.0,
        _ => partitions(count - 1, blocks - 1) as f64 / partitions(count, blocks) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeMap;

    const SPACE: Space = Space {
        candidates: 6,
        functions: 4,
        cores: 2,
    };

    fn all(space: &Space) -> Vec<IndexedPlacement> {
        let first = Some(space.first());
        std::iter::successors(first, |split| space.successor(split)).collect()
    }

    #[test]
    fn combinations_saturate_rather_than_overflow() {
        assert_eq!(combinations(115, 3), 246_905);
        assert_eq!(combinations(3, 4), 0);
        assert_eq!(combinations(u64::MAX, 60), u128::MAX / 60);
    }

    #[test]
    fn successors_visit_every_split_once() {
        // C(6, 4) choices, each in S(4, 2) = 7 set partitions.
        let visited = all(&SPACE);
        assert_eq!((visited.len(), SPACE.count()), (105, 105));
        let distinct: BTreeSet<IndexedPlacement> = visited.into_iter().map(canonical).collect();
        assert_eq!(distinct.len(), 105);
        assert!(distinct.iter().all(|split| cores_of(split) == 2));
    }

    #[test]
    fn with_a_core_for_each_function_a_split_is_its_functions() {
        let space = Space {
            functions: 3,
            cores: 3,
            candidates: 7,
        };
        let visited = all(&space);
        assert_eq!(visited.len(), 35);
        let cores: BTreeSet<Vec<u32>> = visited
            .iter()
            .map(|split| split.iter().map(|&(_, core)| core).collect())
            .collect();
        assert_eq!(cores, BTreeSet::from([vec![0, 1, 2]]));
    }

    #[test]
    fn samples_come_evenly_from_all_splits() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut drawn: BTreeMap<IndexedPlacement, u32> = BTreeMap::new();
        for _ in 0..105 * 400 {
            *drawn.entry(SPACE.drawn(&mut random)).or_default() += 1;
        }
        assert_eq!(drawn.len(), 105);
        // Six standard deviations of a binomial with mean 400.
        assert!(
            drawn.values().all(|&count| (280..520).contains(&count)),
            "{drawn:?}"
        );
    }

    #[test]
    fn a_neighbour_has_another_function_or_another_core() {
        let space = Space {
            functions: 2,
            cores: 2,
            candidates: 5,
        };
        assert_eq!(space.neighbours(&vec![(1, 0), (3, 1)]).len(), 6);
        // Of functions 1 and 2 on core 0 and 4 on core 1: each of the three can be exchanged for
        // the other three, and 1 or 2 can move.
        let split = vec![(1, 0), (2, 0), (4, 1)];
        let space = Space {
            functions: 3,
            cores: 2,
            candidates: 6,
        };
        assert_eq!(space.neighbours(&split).len(), 11);
    }
}
