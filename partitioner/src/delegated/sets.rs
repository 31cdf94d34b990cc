//! Enumerates sets of calls to delegate: a limited number of functions, each with a core.
//!
//! A set is a list of functions in ascending order, each with its core. With a home core, the other
//! cores are interchangeable: they are numbered by their first functions, so that each set occurs
//! once. If a split already has functions on the cores, every core is distinct.

use crate::evaluate::IndexedPlacement;
use crate::strategy::combinations;

/// The space of sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sets {
    /// Number of functions to choose from.
    pub candidates: u32,
    /// Maximum number of functions of a set.
    pub most: u32,
    /// Whether the empty set is included.
    pub may_be_none: bool,
    /// The first and the last core for calls.
    pub cores: (u32, u32),
    /// Whether those cores are interchangeable.
    pub alike: bool,
}

impl Sets {
    /// Returns the number of sets, saturating.
    pub fn count(&self) -> u128 {
        let of_size = |size: u32| {
            let placements = self.placements(size);
            combinations(self.candidates.into(), size.into()).saturating_mul(placements)
        };
        let least = u32::from(!self.may_be_none);
        (least..=self.most.min(self.candidates))
            .map(of_size)
            .fold(0, u128::saturating_add)
    }

    /// Returns the number of ways to place `size` functions on the cores.
    fn placements(&self, size: u32) -> u128 {
        let cores = u128::from(self.cores.1 - self.cores.0 + 1);
        if !self.alike {
            return cores.saturating_pow(size);
        }
        // By number of cores used: the number of placements of the functions so far.
        let mut used = vec![0u128; cores as usize + 1];
        used[0] = 1;
        for _ in 0..size {
            for count in (0..used.len()).rev() {
                let before = if count > 0 { used[count - 1] } else { 0 };
                used[count] = used[count].saturating_mul(count as u128);
                used[count] = used[count].saturating_add(before);
            }
        }
        used.into_iter().fold(0, u128::saturating_add)
    }

    /// Returns the cores available to a set's next function.
    fn cores_after(&self, set: &IndexedPlacement) -> std::ops::RangeInclusive<u32> {
        let (first, last) = self.cores;
        let next = set.iter().map(|&(_, core)| core + 1).max();
        match self.alike {
            true => first..=last.min(next.unwrap_or(first)),
            false => first..=last,
        }
    }

    /// Returns all sets, those with fewer functions first, then in lexicographic order.
    pub fn all(&self) -> impl Iterator<Item = IndexedPlacement> + '_ {
        let none = self.may_be_none.then(IndexedPlacement::new);
        let most = self.most.min(self.candidates);
        none.into_iter()
            .chain((1..=most).flat_map(|size| OfSize::new(self, size)))
    }

    /// Returns the sets with one more function, one function on another core, or one function
    /// exchanged; each in its canonical form.
    pub fn neighbours(&self, set: &IndexedPlacement) -> Vec<IndexedPlacement> {
        let mut neighbours = Vec::new();
        if set.len() < self.most.min(self.candidates) as usize {
            self.put_into(set, &mut neighbours);
        }
        for place in 0..set.len() {
            let mut others = set.clone();
            others.remove(place);
            self.put_into(&others, &mut neighbours);
            if !others.is_empty() || self.may_be_none {
                neighbours.push(self.in_one_form(others));
            }
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours.retain(|neighbour| neighbour != set);
        neighbours
    }

    /// Returns the sets with one more function.
    pub fn extensions(&self, set: &IndexedPlacement) -> Vec<IndexedPlacement> {
        let mut extensions = Vec::new();
        if set.len() < self.most.min(self.candidates) as usize {
            self.put_into(set, &mut extensions);
        }
        extensions
    }

    fn put_into(&self, set: &IndexedPlacement, sets: &mut Vec<IndexedPlacement>) {
        let is_in = |function: u32| set.iter().any(|&(of, _)| of == function);
        for function in (0..self.candidates).filter(|&function| !is_in(function)) {
            for core in self.cores_after(set) {
                let mut larger = set.clone();
                larger.push((function, core));
                sets.push(self.in_one_form(larger));
            }
        }
    }

    fn in_one_form(&self, mut set: IndexedPlacement) -> IndexedPlacement {
        set.sort_unstable();
        if self.alike {
            let mut numbers: Vec<u32> = Vec::new();
            for (_, core) in &mut set {
                let known = numbers.iter().position(|number| number == core);
                let number = known.unwrap_or_else(|| {
                    numbers.push(*core);
                    numbers.len() - 1
                });
                *core = self.cores.0 + number as u32;
            }
        }
        set
    }
}

/// The sets of one size, in lexicographic order.
struct OfSize<'a> {
    sets: &'a Sets,
    size: usize,
    next: Option<IndexedPlacement>,
}

impl<'a> OfSize<'a> {
    fn new(sets: &'a Sets, size: u32) -> OfSize<'a> {
        let first = (0..size).map(|function| (function, sets.cores.0));
        OfSize {
            sets,
            size: size as usize,
            next: Some(first.collect()),
        }
    }

    fn successor(&self, set: &IndexedPlacement) -> Option<IndexedPlacement> {
        for place in (0..self.size).rev() {
            let (function, core) = set[place];
            let mut next = set[..place].to_vec();
            let left = (self.size - place) as u32;
            if core < *self.sets.cores_after(&next).end() {
                next.push((function, core + 1));
            } else if function + left < self.sets.candidates {
                next.push((function + 1, self.sets.cores.0));
            } else {
                continue;
            }
            let last = next[place].0;
            let others = (last + 1..).take(left as usize - 1);
            next.extend(others.map(|function| (function, self.sets.cores.0)));
            return Some(next);
        }
        None
    }
}

impl Iterator for OfSize<'_> {
    type Item = IndexedPlacement;

    fn next(&mut self) -> Option<IndexedPlacement> {
        let set = self.next.take()?;
        self.next = self.successor(&set);
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sets(candidates: u32, most: u32, cores: (u32, u32), alike: bool) -> Sets {
        Sets {
            candidates,
            most,
            may_be_none: !alike,
            cores,
            alike,
        }
    }

    #[test]
    fn every_set_comes_once_and_all_are_counted() {
        for (sets, count) in [
            (sets(5, 1, (1, 1), true), 5),
            (sets(5, 2, (1, 1), true), 15),
            (sets(5, 2, (1, 2), true), 5 + 20),
            (sets(4, 3, (1, 3), true), 4 + 6 * 2 + 4 * 5),
            (sets(4, 3, (1, 2), true), 4 + 6 * 2 + 4 * 4),
            (sets(3, 2, (0, 1), false), 1 + 6 + 12),
            (sets(2, 4, (1, 1), true), 3),
        ] {
            assert_eq!(sets.count(), count, "{sets:?}");
            let all: Vec<IndexedPlacement> = sets.all().collect();
            let distinct: BTreeSet<&IndexedPlacement> = all.iter().collect();
            assert_eq!(
                (all.len(), distinct.len()),
                (count as usize, count as usize)
            );
            assert!(all.iter().all(|set| sets.in_one_form(set.clone()) == *set));
        }
    }

    #[test]
    fn neighbours_are_other_sets_of_the_space_that_differ_in_one_function() {
        let sets = sets(4, 2, (1, 2), true);
        let all: BTreeSet<IndexedPlacement> = sets.all().collect();
        for set in &all {
            for neighbour in sets.neighbours(set) {
                assert!(all.contains(&neighbour) && neighbour != *set);
                let other = neighbour
                    .iter()
                    .filter(|(f, _)| set.iter().all(|(g, _)| g != f));
                assert!(other.count() <= 1);
            }
        }
        assert_eq!(sets.extensions(&vec![(1, 1)]).len(), 6);
        assert_eq!(sets.extensions(&vec![(0, 1), (1, 1)]).len(), 0);
    }
}
