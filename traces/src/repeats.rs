//! Finds executions that do once more what the thread did before, address for address.
//!
//! A server does the same for every request of a kind, on the same stack and often on the same
//! objects: three executions in four stand in long sequences that have stood in the block before.
//! Such a sequence is kept as a *repeat*: its length, and how far back it stood (LZ77, Ziv and
//! Lempel, 1977, over executions). zstd finds this repetition too, but column by column: a reader
//! would still predict each address that it can copy.

use std::ops::Range;

/// Executions that are those of `distance` earlier in the block, one for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Place of the first of them in the block.
    pub place: u32,
    /// Number of executions, at least 1.
    pub length: u32,
    /// How many executions earlier, at least 1 and at most `place`; less than `length` where a
    /// sequence follows itself.
    pub distance: u32,
}

impl Repeat {
    /// The executions that it repeats.
    pub fn source(&self) -> Range<u32> {
        let first = self.place - self.distance;
        first..first + self.length
    }

    /// The same as repeats that are no longer than their distance, each of which but the first
    /// repeats twice as much as the one before: what a sequence that follows itself has become.
    pub fn apart(self) -> impl Iterator<Item = Repeat> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let next = Repeat {
                length: rest.length.min(rest.distance),
                ..rest
            };
            rest.place += next.length;
            rest.length -= next.length;
            rest.distance += next.length;
            (next.length > 0).then_some(next)
        })
    }
}

/// A block's executions, repeats set apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spelled {
    /// By place; between them stands what is spelled out.
    pub repeats: Vec<Repeat>,
    /// Shape numbers of the executions that are spelled out.
    pub shapes: Vec<u32>,
    /// Addresses of their data accesses.
    pub addresses: Vec<u64>,
}

impl Spelled {
    fn clear(&mut self) {
        self.repeats.clear();
        self.shapes.clear();
        self.addresses.clear();
    }
}

/// So many executions must be the same: a shorter repeat takes as much room as what it stands for.
const WINDOW: usize = 8;
/// At the distance of the repeat before, a repeat costs less, and may be shorter.
const SHORTEST_AT_SAME_DISTANCE: usize = 4;
/// Of the windows only one in so many is noted and looked for. Their content decides which, so that
/// they are the same ones when it comes again.
const NOTED_ONE_IN: u64 = 4;
/// The most windows noted at a time; of two with the same number the later one stays.
const MOST_NOTES: usize = 1 << 18;

/// Finds repeats, with room that is used again for each block.
#[derive(Default)]
pub struct Finder {
    /// By some bits of a window's hash, 1 + the place of the last such window noted, or 0.
    notes: Vec<u32>,
    spelled: Spelled,
}

impl Finder {
    /// Finds the repeats among executions, which have shape numbers `shapes` and data accesses at
    /// `addresses`; `begins` says where those of each begin, and where all end.
    pub fn find(&mut self, shapes: &[u32], addresses: &[u64], begins: &[u32]) -> &Spelled {
        let most_notes = shapes.len().next_power_of_two().clamp(2, MOST_NOTES);
        self.notes.clear();
        self.notes.resize(most_notes, 0);
        let spelled = &mut self.spelled;
        spelled.clear();
        let executions = Executions {
            shapes,
            addresses,
            begins,
        };
        find(&executions, &mut self.notes, spelled);
        spelled
    }
}

fn find(executions: &Executions<'_>, notes: &mut [u32], spelled: &mut Spelled) {
    let count = executions.shapes.len();
    let mut window = Window::default();
    // Executions before `written` are in `spelled`, those before `place` were looked for.
    let (mut written, mut place) = (0, 0);
    let mut latest_distance = usize::MAX;
    while place < count {
        let noted = window
            .move_to(place, executions)
            .and_then(|hash| note(hash, place, notes));
        let at_same_distance = place.checked_sub(latest_distance);
        let same = |count| move |&earlier: &usize| executions.same(earlier, place, count);
        let found = at_same_distance.filter(same(SHORTEST_AT_SAME_DISTANCE));
        let found = found.or_else(|| noted.filter(same(WINDOW)));
        let Some(earlier) = found else {
            place += 1;
            continue;
        };
        let before = executions.same_before(earlier, place, place - written);
        let after = executions.same_after(earlier, place);
        executions.spell(written..place - before, spelled);
        latest_distance = place - earlier;
        spelled.repeats.push(Repeat {
            place: (place - before) as u32,
            length: (before + after) as u32,
            distance: latest_distance as u32,
        });
        // Nothing within it is noted: what comes once more is found where it first was.
        place += after;
        written = place;
    }
    executions.spell(written..count, spelled);
}

/// Notes the window at `place`, which has this hash; where the one was that is noted under its
/// number.
fn note(hash: u64, place: usize, notes: &mut [u32]) -> Option<usize> {
    if !(hash >> 32).is_multiple_of(NOTED_ONE_IN) {
        return None;
    }
    let number = (hash >> (64 - notes.len().trailing_zeros())) as usize;
    let earlier = std::mem::replace(&mut notes[number], place as u32 + 1);
    earlier.checked_sub(1).map(|earlier| earlier as usize)
}

/// The executions from a place on, [`WINDOW`] of them, as a hash: a polynomial in [`FACTOR`], from
/// which that of the next place follows (Karp and Rabin, 1987).
#[derive(Default)]
struct Window {
    place: usize,
    polynomial: u64,
    /// Of each execution in it, by place modulo their number.
    hashes: [u64; WINDOW],
}

/// Odd, its bits random: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Window {
    /// The hash of the window at `place`; `None` when it goes beyond the end.
    fn move_to(&mut self, place: usize, executions: &Executions<'_>) -> Option<u64> {
        const OF_THE_FIRST: u64 = FACTOR.wrapping_pow(WINDOW as u32 - 1);
        if place + WINDOW > executions.shapes.len() {
            return None;
        }
        // All but the last are the same as before only if it moves by one.
        let mut first_new = place;
        if place == self.place + 1 {
            let gone = self.hashes[self.place % WINDOW].wrapping_mul(OF_THE_FIRST);
            self.polynomial = self.polynomial.wrapping_sub(gone);
            first_new = place + WINDOW - 1;
        } else {
            self.polynomial = 0;
        }
        for place in first_new..place + WINDOW {
            let hash = executions.hash(place);
            self.hashes[place % WINDOW] = hash;
            self.polynomial = self.polynomial.wrapping_mul(FACTOR).wrapping_add(hash);
        }
        self.place = place;
        // The high bits of a product depend on all bits of its factors.
        Some(self.polynomial.wrapping_mul(FACTOR))
    }
}

/// Executions that can be compared at any place.
struct Executions<'a> {
    shapes: &'a [u32],
    addresses: &'a [u64],
    begins: &'a [u32],
}

impl Executions<'_> {
    fn hash(&self, place: usize) -> u64 {
        let mix = |hash: u64, &address: &u64| (hash ^ address).wrapping_mul(FACTOR).rotate_left(29);
        let (shapes, addresses) = self.of(place..place + 1);
        let hash = addresses.iter().fold(u64::from(shapes[0]), mix);
        hash.wrapping_mul(FACTOR)
    }

    fn of(&self, places: Range<usize>) -> (&[u32], &[u64]) {
        let addresses = self.begins[places.start] as usize..self.begins[places.end] as usize;
        (&self.shapes[places], &self.addresses[addresses])
    }

    /// Whether `count` executions from `place` on are there, and those from `earlier` on. The first
    /// shape is looked at before all else, because it tells most of those that are not.
    fn same(&self, earlier: usize, place: usize, count: usize) -> bool {
        place + count <= self.shapes.len()
            && self.shapes[earlier] == self.shapes[place]
            && self.of(earlier..earlier + count) == self.of(place..place + count)
    }

    /// How many executions before `place` are those before `earlier`, at most `most`.
    fn same_before(&self, earlier: usize, place: usize, most: usize) -> usize {
        let same = |&back: &usize| self.same(earlier - back, place - back, 1);
        (1..=most.min(earlier)).take_while(same).count()
    }

    /// How many executions from `place` on are those from `earlier` on: looks at twice as many at a
    /// time while all are, since shapes go on being the same for long after addresses do not.
    fn same_after(&self, earlier: usize, place: usize) -> usize {
        let (mut count, mut step) = (0, WINDOW);
        loop {
            let here = place + count;
            let most = step.min(self.shapes.len() - here);
            let (shapes, addresses) = self.of(here..here + most);
            let (earlier_shapes, earlier_addresses) =
                self.of(earlier + count..earlier + count + most);
            let same_shapes = same_values(shapes, earlier_shapes);
            // As many addresses have the same places in both; what follows may be another shape's.
            let same_addresses = same_values(addresses, earlier_addresses) as u32;
            let first = self.begins[here];
            let ends = &self.begins[here + 1..=here + same_shapes];
            let same = ends.partition_point(|end| end - first <= same_addresses);
            count += same;
            if same < most || most < step {
                return count;
            }
            step *= 2;
        }
    }

    fn spell(&self, places: Range<usize>, spelled: &mut Spelled) {
        let (shapes, addresses) = self.of(places);
        spelled.shapes.extend_from_slice(shapes);
        spelled.addresses.extend_from_slice(addresses);
    }
}

/// How many values at the beginning of both are the same.
fn same_values<T: PartialEq>(values: &[T], others: &[T]) -> usize {
    const TOGETHER: usize = 8;
    let (eights, _) = values.as_chunks::<TOGETHER>();
    let (other_eights, _) = others.as_chunks::<TOGETHER>();
    let same = |(eight, other): &(&[T; TOGETHER], &[T; TOGETHER])| eight == other;
    let eights = eights.iter().zip(other_eights).take_while(same).count();
    let whole = eights * TOGETHER;
    let rest = values[whole..].iter().zip(&others[whole..]);
    whole + rest.take_while(|(value, other)| value == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executions of shapes with one data access each, in all of which shape and address agree.
    fn find_in(shapes: &[u32]) -> Spelled {
        let addresses: Vec<u64> = shapes.iter().map(|&shape| u64::from(shape) * 8).collect();
        let mut finder = Finder::default();
        let begins: Vec<u32> = (0..=shapes.len() as u32).collect();
        finder.find(shapes, &addresses, &begins);
        finder.spelled
    }

    /// The executions that are spelled out and repeated.
    fn expand(spelled: &Spelled) -> Vec<u32> {
        let mut shapes = Vec::new();
        let mut rest = spelled.shapes.iter();
        for repeat in &spelled.repeats {
            let before = repeat.place as usize - shapes.len();
            shapes.extend(rest.by_ref().take(before));
            for _ in 0..repeat.length {
                shapes.push(shapes[shapes.len() - repeat.distance as usize]);
            }
        }
        shapes.extend(rest);
        shapes
    }

    #[test]
    fn what_comes_again_is_a_repeat_from_its_first_execution_on() {
        let sequence: Vec<u32> = (0..60).collect();
        let shapes = [&sequence[..], &[90, 91], &sequence[..], &[92]].concat();
        let spelled = find_in(&shapes);
        let repeat = Repeat {
            place: 62,
            length: 60,
            distance: 62,
        };
        assert_eq!(spelled.repeats, [repeat]);
        assert_eq!(spelled.shapes.len(), 60 + 2 + 1);
        assert_eq!(expand(&spelled), shapes);
    }

    #[test]
    fn a_sequence_that_follows_itself_is_one_repeat() {
        let shapes = [1, 2, 3, 4, 5, 6, 7].repeat(20);
        let spelled = find_in(&shapes);
        assert_eq!(spelled.repeats.len(), 1);
        assert_eq!(spelled.repeats[0].distance, 7);
        assert_eq!(spelled.shapes.len(), 7);
        assert_eq!(expand(&spelled), shapes);
    }

    #[test]
    fn a_sequence_that_follows_itself_is_repeats_of_twice_as_much_each() {
        let repeat = |place, length, distance| Repeat {
            place,
            length,
            distance,
        };
        let apart: Vec<Repeat> = repeat(10, 133, 7).apart().collect();
        let lengths = [
            (10, 7, 7),
            (17, 14, 14),
            (31, 28, 28),
            (59, 56, 56),
            (115, 28, 112),
        ];
        assert_eq!(
            apart,
            lengths.map(|(place, length, distance)| repeat(place, length, distance))
        );
        assert!(apart.iter().all(|repeat| repeat.source().start == 3));
        assert_eq!(
            repeat(10, 7, 8).apart().collect::<Vec<_>>(),
            [repeat(10, 7, 8)]
        );
    }

    #[test]
    fn after_a_difference_of_one_execution_a_repeat_goes_on() {
        let sequence: Vec<u32> = (0..80).collect();
        let mut again = sequence.clone();
        again[40] = 99;
        let shapes = [sequence, again].concat();
        let spelled = find_in(&shapes);
        let lengths: Vec<_> = spelled.repeats.iter().map(|repeat| repeat.length).collect();
        assert_eq!(lengths, [40, 39]);
        assert_eq!(expand(&spelled), shapes);
    }

    #[test]
    fn another_address_is_another_execution() {
        let shapes: Vec<u32> = (0..60).chain(0..60).collect();
        let addresses: Vec<u64> = (0..120).collect();
        let mut finder = Finder::default();
        let begins: Vec<u32> = (0..=120).collect();
        let spelled = finder.find(&shapes, &addresses, &begins);
        assert_eq!(spelled.repeats, []);
        assert_eq!((&spelled.shapes, &spelled.addresses), (&shapes, &addresses));
    }
}
