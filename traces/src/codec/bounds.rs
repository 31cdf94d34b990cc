//! Where in a block a repeat, or what it repeats, begins or ends.
//!
//! To copy what stood earlier, a reader must know where the accesses of some executions are. It
//! asks that only of *bounds*: where a source begins or ends, where something stops the reader
//! within a repeat, and where such a place, led back from each repeat to its source, stood before.
//! They are one execution in thirty of a recorded mariadbd's; to keep the ends of all was rejected,
//! because that takes as much memory as the rest of a block.

use crate::codec::repeats::Repeat;
use crate::codec::shape::Size;
use std::ops::Range;

/// How many accesses executions make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses(u64);

impl Accesses {
    fn of(size: Size) -> Accesses {
        Accesses(u64::from(size.references()) << 32 | u64::from(size.data))
    }

    /// All of them, fetches included.
    pub fn references(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// Loads and stores.
    pub fn data(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The bounds of a block.
#[derive(Default)]
pub struct Bounds {
    all: Bits,
    begins: Bits,
    /// By word of `all`, how many bounds come before its own.
    before: Vec<u32>,
    places: Vec<u32>,
    /// By bound, the accesses of all executions before it.
    accesses: Vec<Accesses>,
}

impl Bounds {
    /// Finds those of a block, none of whose repeats is longer than its distance. At the `stops` a
    /// reader may stop and begin again.
    pub fn find(
        &mut self,
        executions: usize,
        repeats: &[Repeat],
        stops: impl Iterator<Item = u32>,
    ) {
        self.places.clear();
        if repeats.is_empty() {
            return;
        }
        self.all.clear(executions + 1);
        self.begins.clear(executions + 1);
        for stop in stops.filter(|&stop| stop as usize <= executions) {
            self.begins.set(stop);
        }
        for repeat in repeats {
            self.begins.set(repeat.source().start);
            self.all.set(repeat.source().end);
        }
        self.lead_back(repeats);
        self.before.clear();
        for (word, place) in self.all.0.iter().zip((0..).step_by(64)) {
            self.before.push(self.places.len() as u32);
            self.places.extend(ones(*word).map(|bit| place + bit));
        }
    }

    /// Adds where each of them that is within a repeat stood before. Latest repeats first, so that
    /// what is added within an earlier one is led back in its turn.
    fn lead_back(&mut self, repeats: &[Repeat]) {
        self.all.add(&self.begins);
        for repeat in repeats.iter().rev() {
            let target = repeat.place..repeat.place + repeat.length;
            for word in target.start / 64..=(target.end - 1) / 64 {
                for bit in ones(self.all.0[word as usize]) {
                    let place = word * 64 + bit;
                    if !target.contains(&place) {
                        continue;
                    }
                    self.all.set(place - repeat.distance);
                    if self.begins.has(place) {
                        self.begins.set(place - repeat.distance);
                    }
                }
            }
        }
    }

    /// Counts the accesses before each. `places` has the places in `sizes` of the executions that
    /// are spelled out, as many as the repeats leave; they make at most `most` accesses, which is
    /// at most 2^31. The accesses of all executions, or `None` when they are more than that.
    pub fn measure(
        &mut self,
        places: &[u16],
        sizes: &[Size],
        repeats: &[Repeat],
        most: usize,
    ) -> Option<Accesses> {
        let sizes: Vec<u64> = sizes.iter().map(|&size| Accesses::of(size).0).collect();
        let size = |&place: &u16| sizes[usize::from(place)];
        self.accesses.clear();
        let mut rest = places;
        let (mut total, mut end) = (Accesses(0), 0);
        let repeated = repeats.iter().map(|repeat| repeat.length).sum::<u32>();
        let last = places.len() as u32 + repeated;
        for repeat in repeats.iter().map(Some).chain([None]) {
            let until = repeat.map_or(last, |repeat| repeat.place);
            while let Some(bound) = self.next_up_to(until) {
                let own = rest.split_off(..(bound - end) as usize).unwrap_or_default();
                total.0 += own.iter().map(size).sum::<u64>();
                self.accesses.push(total);
                end = bound;
            }
            let own = rest.split_off(..(until - end) as usize).unwrap_or_default();
            total.0 += own.iter().map(size).sum::<u64>();
            let Some(repeat) = repeat else { break };
            end = repeat.place + repeat.length;
            let before = self.before(repeat.source().start).0;
            while let Some(inner) = self.next_up_to(end - 1) {
                let own = self.before(inner - repeat.distance).0 - before;
                self.accesses.push(Accesses(total.0 + own));
            }
            total.0 += self.before(repeat.source().end).0 - before;
            if total.references() > most {
                return None;
            }
        }
        (total.references() <= most).then_some(total)
    }

    /// The first bound before which accesses are not counted, if it is no later than `place`.
    fn next_up_to(&self, place: u32) -> Option<u32> {
        let next = self.places.get(self.accesses.len()).copied();
        next.filter(|&next| next <= place)
    }

    /// Their places, ascending.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Whether something may be copied from this place on, which is that of a bound; or whether
    /// something only ends there.
    pub fn begins(&self, place: u32) -> bool {
        self.begins.has(place)
    }

    /// Which of the bounds is at this place; one is.
    pub fn index(&self, place: u32) -> usize {
        let (word, bit) = (place as usize / 64, place % 64);
        let earlier = self.all.0[word] & ((1 << bit) - 1);
        (self.before[word] + earlier.count_ones()) as usize
    }

    /// The accesses before a place, which is that of a bound.
    fn before(&self, place: u32) -> Accesses {
        self.accesses[self.index(place)]
    }

    /// How many accesses the executions before a place make, which is that of a bound.
    pub fn references_before(&self, place: u32) -> u64 {
        self.before(place).references() as u64
    }

    /// Which of the block's data accesses are those of executions that begin and end at bounds.
    pub fn data(&self, executions: Range<u32>) -> Range<usize> {
        self.before(executions.start).data()..self.before(executions.end).data()
    }
}

/// One bit a place.
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

/// The places of a word's ones, ascending.
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

    /// Repeats and the number of executions, from the number that are spelled out before each, how
    /// long it is and how far back.
    fn lay_out(wishes: &[(u32, u32, u32)]) -> (Vec<Repeat>, usize) {
        let mut repeats = Vec::new();
        let mut end = 1;
        for (before, length, distance) in wishes {
            let place = end + before;
            let repeat = Repeat {
                place,
                length: *length,
                distance: 1 + distance % place,
            };
            repeats.extend(repeat.apart());
            end = place + length;
        }
        (repeats, end as usize)
    }

    proptest! {
        #[test]
        fn the_accesses_before_each_bound_are_those_of_the_executions_before_it(
            wishes in prop::collection::vec((0u32..5, 1u32..200, any::<u32>()), 1..12),
            stops in prop::collection::vec(0u32..300, 0..5),
            shapes in prop::collection::vec((0u16..9, 1u16..9), 1..5),
        ) {
            let (repeats, executions) = lay_out(&wishes);
            let sizes: Vec<Size> =
                shapes.iter().map(|&(data, fetches)| Size { data, fetches }).collect();
            // By place, the shape of an execution, and that of the one it repeats.
            let mut all: Vec<u16> = (0..executions).map(|n| (n * n % sizes.len()) as u16).collect();
            let mut spelled = vec![true; executions];
            for repeat in &repeats {
                for place in repeat.place..repeat.place + repeat.length {
                    all[place as usize] = all[(place - repeat.distance) as usize];
                    spelled[place as usize] = false;
                }
            }
            let own = all.iter().zip(&spelled).filter(|(_, own)| **own);
            let places: Vec<u16> = own.map(|(place, _)| *place).collect();
            let mut bounds = Bounds::default();
            bounds.find(executions, &repeats, stops.iter().copied());
            let total = bounds.measure(&places, &sizes, &repeats, 1 << 20).unwrap();
            let before = |place: usize| {
                let size = |&shape: &u16| Accesses::of(sizes[usize::from(shape)]).0;
                Accesses(all[..place].iter().map(size).sum::<u64>())
            };
            prop_assert_eq!(total, before(executions));
            prop_assert!(bounds.places().is_sorted());
            for (index, &place) in bounds.places().iter().enumerate() {
                prop_assert_eq!(bounds.index(place), index);
                prop_assert_eq!(bounds.before(place), before(place as usize));
            }
            let begins = repeats.iter().map(|repeat| repeat.source().start);
            for begin in begins.chain(stops.iter().copied().filter(|&s| s as usize <= executions)) {
                prop_assert!(bounds.begins(begin) && bounds.places().contains(&begin));
            }
            for repeat in &repeats {
                prop_assert!(bounds.places().contains(&repeat.source().end));
                for place in repeat.place..repeat.place + repeat.length {
                    let earlier = place - repeat.distance;
                    prop_assert!(!bounds.begins(place) || bounds.begins(earlier));
                    let is_bound = |place| bounds.places().contains(place);
                    prop_assert!(!is_bound(&place) || is_bound(&earlier));
                }
            }
            let references = total.references();
            prop_assert_eq!(bounds.measure(&places, &sizes, &repeats, references), Some(total));
            prop_assert_eq!(bounds.measure(&places, &sizes, &repeats, references - 1), None);
        }
    }
}
