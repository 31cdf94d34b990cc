//! Counts by instruction and piece of memory together, besides what a [`Collector`] counts by each.
//!
//! The collector tells what it counts, and numbers instructions and pieces. So a pair costs a
//! lookup for each access of data, and memory for each pair that occurs. A collector with
//! [`NoPairs`] has none of this.
//!
//! [`Collector`]: crate::collector::Collector

use crate::cost::{Missed, Walked};
use std::collections::HashMap;

/// An instruction that loads or stores, and a piece of memory, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub site: u32,
    pub piece: u32,
}

/// The counts of a pair.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub accesses: u64,
    pub missed: Missed,
    pub walked: Walked,
}

/// Receives what a collector counts of loads and stores.
pub(crate) trait Pairs {
    /// A pair accesses a line. What follows is of this access.
    fn accessed(&mut self, pair: Pair);

    /// Adds to its misses.
    fn count(&mut self, add: impl Fn(&mut Missed));

    /// Adds its address translation.
    fn add_walk(&mut self, walked: Walked);

    /// Forgets all counts.
    fn start_counting(&mut self);

    /// Returns the counts of pairs that have any.
    fn finish(self) -> Vec<(Pair, Counts)>;
}

/// Counts no pairs.
pub(crate) struct NoPairs;

impl Pairs for NoPairs {
    #[inline]
    fn accessed(&mut self, _: Pair) {}

    #[inline]
    fn count(&mut self, _: impl Fn(&mut Missed)) {}

    fn add_walk(&mut self, _: Walked) {}

    fn start_counting(&mut self) {}

    fn finish(self) -> Vec<(Pair, Counts)> {
        Vec::new()
    }
}

/// Counts pairs.
#[derive(Default)]
pub(crate) struct PairCounts {
    number_of: HashMap<Pair, u32>,
    pairs: Vec<Pair>,
    /// By pair.
    counts: Vec<Counts>,
    /// By site, its latest pair: most instructions access one piece.
    latest: Vec<Option<u32>>,
    /// The pair of the current access.
    current: u32,
}

impl PairCounts {
    /// Returns the number of a pair.
    fn number(&mut self, pair: Pair) -> u32 {
        let site = pair.site as usize;
        if site >= self.latest.len() {
            self.latest.resize(site + 1, None);
        }
        if let Some(latest) = self.latest[site]
            && self.pairs[latest as usize] == pair
        {
            return latest;
        }
        let next = self.pairs.len() as u32;
        let number = *self.number_of.entry(pair).or_insert(next);
        if number == next {
            self.pairs.push(pair);
            self.counts.push(Counts::default());
        }
        self.latest[site] = Some(number);
        number
    }

    fn current(&mut self) -> &mut Counts {
        &mut self.counts[self.current as usize]
    }
}

impl Pairs for PairCounts {
    #[inline]
    fn accessed(&mut self, pair: Pair) {
        self.current = self.number(pair);
        self.current().accesses += 1;
    }

    #[inline]
    fn count(&mut self, add: impl Fn(&mut Missed)) {
        add(&mut self.current().missed);
    }

    fn add_walk(&mut self, walked: Walked) {
        self.current().walked += walked;
    }

    fn start_counting(&mut self) {
        self.counts.fill(Counts::default());
    }

    fn finish(self) -> Vec<(Pair, Counts)> {
        let all = self.pairs.into_iter().zip(self.counts);
        all.filter(|(_, counts)| counts.accesses > 0).collect()
    }
}
