//! Positions in a chunk at which a match, or its source, begins or ends.
//!
//! To copy earlier executions, a reader must know where their accesses are. It needs that only for
//! *bounds*: the start or end of a source, and a place where a reader stops within a match. The
//! corresponding place in the source of each match is also a bound, recursively. In a recorded
//! mariadbd, one execution in thirty is a bound. Rejected: keeping the ends of all executions,
//! because that takes as much memory as the rest of a chunk.

use crate::codec::matches::Match;
use crate::codec::template::Size;
use std::ops::Range;

/// Number of accesses of some executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCounts(u64);

impl AccessCounts {
    fn of(size: Size) -> AccessCounts {
        AccessCounts(u64::from(size.references()) << 32 | u64::from(size.data))
    }

    /// Returns the number of all accesses, including fetches.
    pub fn references(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// Returns the number of loads and stores.
    pub fn data(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The bounds of a chunk.
#[derive(Default)]
pub struct Bounds {
    all: Bits,
    begins: Bits,
    /// For each word of `all`, the number of bounds before it.
    before: Vec<u32>,
    places: Vec<u32>,
    /// For each bound, the accesses of all executions before it.
    accesses: Vec<AccessCounts>,
}

impl Bounds {
    /// Finds the bounds of a chunk, in which no match is longer than its distance. A reader may
    /// stop and restart at the `stops`.
    pub fn find(&mut self, executions: usize, matches: &[Match], stops: impl Iterator<Item = u32>) {
        self.places.clear();
        if matches.is_empty() {
            return;
        }
        self.all.clear(executions + 1);
        self.begins.clear(executions + 1);
        for stop in stops.filter(|&stop| stop as usize <= executions) {
            self.begins.set(stop);
        }
        for matched in matches {
            self.begins.set(matched.source().start);
            self.all.set(matched.source().end);
        }
        self.lead_back(matches);
        self.before.clear();
        for (word, place) in self.all.0.iter().zip((0..).step_by(64)) {
            self.before.push(self.places.len() as u32);
            self.places.extend(ones(*word).map(|bit| place + bit));
        }
    }

    /// Adds the source position of each bound within a match. It starts with the latest match, so
    /// that a bound added within an earlier match is also traced back.
    fn lead_back(&mut self, matches: &[Match]) {
        self.all.add(&self.begins);
        for matched in matches.iter().rev() {
            let target = matched.place..matched.place + matched.length;
            for word in target.start / 64..=(target.end - 1) / 64 {
                for bit in ones(self.all.0[word as usize]) {
                    let place = word * 64 + bit;
                    if !target.contains(&place) {
                        continue;
                    }
                    self.all.set(place - matched.distance);
                    if self.begins.has(place) {
                        self.begins.set(place - matched.distance);
                    }
                }
            }
        }
    }

    /// Counts the accesses before each bound. `places` contains the index in `sizes` of each
    /// literal execution, as many as the matches leave. Returns the accesses of all executions, or
    /// `None` if they exceed `most`, which is at most 2^31; the literals alone make no more than
    /// that.
    pub fn measure(
        &mut self,
        places: &[u16],
        sizes: &[Size],
        matches: &[Match],
        most: usize,
    ) -> Option<AccessCounts> {
        let sizes: Vec<u64> = sizes.iter().map(|&size| AccessCounts::of(size).0).collect();
        let size = |&place: &u16| sizes[usize::from(place)];
        self.accesses.clear();
        let mut rest = places;
        let (mut total, mut end) = (AccessCounts(0), 0);
        let matched = matches.iter().map(|matched| matched.length).sum::<u32>();
        let last = places.len() as u32 + matched;
        for matched in matches.iter().map(Some).chain([None]) {
            let until = matched.map_or(last, |matched| matched.place);
            while let Some(bound) = self.next_up_to(until) {
                let own = rest.split_off(..(bound - end) as usize).unwrap_or_default();
                total.0 += own.iter().map(size).sum::<u64>();
                self.accesses.push(total);
                end = bound;
            }
            let own = rest.split_off(..(until - end) as usize).unwrap_or_default();
            total.0 += own.iter().map(size).sum::<u64>();
            let Some(matched) = matched else { break };
            end = matched.place + matched.length;
            let before = self.before(matched.source().start).0;
            while let Some(inner) = self.next_up_to(end - 1) {
                let own = self.before(inner - matched.distance).0 - before;
                self.accesses.push(AccessCounts(total.0 + own));
            }
            total.0 += self.before(matched.source().end).0 - before;
            if total.references() > most {
                return None;
            }
        }
        (total.references() <= most).then_some(total)
    }

    /// Returns the first bound before which accesses are not yet counted, if it is at most `place`.
    fn next_up_to(&self, place: u32) -> Option<u32> {
        let next = self.places.get(self.accesses.len()).copied();
        next.filter(|&next| next <= place)
    }

    /// Returns the places of the bounds, ascending.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Returns whether copying may start at this place, which must be a bound; false if a source
    /// only ends there.
    pub fn begins(&self, place: u32) -> bool {
        self.begins.has(place)
    }

    /// Returns the index of the bound at this place, which must be a bound.
    pub fn index(&self, place: u32) -> usize {
        let (word, bit) = (place as usize / 64, place % 64);
        let earlier = self.all.0[word] & ((1 << bit) - 1);
        (self.before[word] + earlier.count_ones()) as usize
    }

    /// Returns the accesses before a place, which must be a bound.
    fn before(&self, place: u32) -> AccessCounts {
        self.accesses[self.index(place)]
    }

    /// Returns the number of accesses of the executions before a place, which must be a bound.
    pub fn references_before(&self, place: u32) -> u64 {
        self.before(place).references() as u64
    }

    /// Returns the range of the chunk's data accesses made by `executions`, whose ends are bounds.
    pub fn data(&self, executions: Range<u32>) -> Range<usize> {
        self.before(executions.start).data()..self.before(executions.end).data()
    }
}

/// One bit per place.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn clear(&mut self, places: usize) {
        self.0.clear();
        self.0.resize(places.div_ceil(64), 0);
    }

    fn set(&mut self, place: u32) {
        self.0[place as usize / 64] |= 1 << (place % 64);
    }

    fn add(&mut self, other: &Bits) {
        let words = self.0.iter_mut().zip(&other.0);
        words.for_each(|(own, other)| *own |= other);
    }

    fn has(&self, place: u32) -> bool {
        self.0[place as usize / 64] >> (place % 64) & 1 == 1
    }
}

/// Returns the positions of a word's one bits, ascending.
fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns matches and the number of executions. Each wish has the number of literals before
    /// the match, its length, and a number that determines its distance.
    fn lay_out(wishes: &[(u32, u32, u32)]) -> (Vec<Match>, usize) {
        let mut matches = Vec::new();
        let mut end = 1;
        for (before, length, distance) in wishes {
            let place = end + before;
            let matched = Match {
                place,
                length: *length,
                distance: 1 + distance % place,
            };
            matches.extend(matched.apart());
            end = place + length;
        }
        (matches, end as usize)
    }

    proptest! {
        #[test]
        fn the_accesses_before_each_bound_are_those_of_the_executions_before_it(
            wishes in prop::collection::vec((0u32..5, 1u32..200, any::<u32>()), 1..12),
            stops in prop::collection::vec(0u32..300, 0..5),
            templates in prop::collection::vec((0u16..9, 1u16..9), 1..5),
        ) {
            let (matches, executions) = lay_out(&wishes);
            let sizes: Vec<Size> =
                templates.iter().map(|&(data, fetches)| Size { data, fetches }).collect();
            // The template of the execution at each place, and of its source.
            let mut all: Vec<u16> = (0..executions).map(|n| (n * n % sizes.len()) as u16).collect();
            let mut is_literal = vec![true; executions];
            for matched in &matches {
                for place in matched.place..matched.place + matched.length {
                    all[place as usize] = all[(place - matched.distance) as usize];
                    is_literal[place as usize] = false;
                }
            }
            let own = all.iter().zip(&is_literal).filter(|(_, own)| **own);
            let places: Vec<u16> = own.map(|(place, _)| *place).collect();
            let mut bounds = Bounds::default();
            bounds.find(executions, &matches, stops.iter().copied());
            let total = bounds.measure(&places, &sizes, &matches, 1 << 20).unwrap();
            let before = |place: usize| {
                let size = |&template: &u16| AccessCounts::of(sizes[usize::from(template)]).0;
                AccessCounts(all[..place].iter().map(size).sum::<u64>())
            };
            prop_assert_eq!(total, before(executions));
            prop_assert!(bounds.places().is_sorted());
            for (index, &place) in bounds.places().iter().enumerate() {
                prop_assert_eq!(bounds.index(place), index);
                prop_assert_eq!(bounds.before(place), before(place as usize));
            }
            let begins = matches.iter().map(|matched| matched.source().start);
            for begin in begins.chain(stops.iter().copied().filter(|&s| s as usize <= executions)) {
                prop_assert!(bounds.begins(begin) && bounds.places().contains(&begin));
            }
            for matched in &matches {
                prop_assert!(bounds.places().contains(&matched.source().end));
                for place in matched.place..matched.place + matched.length {
                    let earlier = place - matched.distance;
                    prop_assert!(!bounds.begins(place) || bounds.begins(earlier));
                    let is_bound = |place| bounds.places().contains(place);
                    prop_assert!(!is_bound(&place) || is_bound(&earlier));
                }
            }
            let references = total.references();
            prop_assert_eq!(bounds.measure(&places, &sizes, &matches, references), Some(total));
            prop_assert_eq!(bounds.measure(&places, &sizes, &matches, references - 1), None);
        }
    }
}
