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

/// So many executions must be the same: a shorter repeat takes as much room as what it stands for.
const WINDOW: usize = 8;
/// At the distance of the repeat before, a repeat costs less, and may be shorter.
const SHORTEST_AT_SAME_DISTANCE: usize = 4;
/// Of the windows only one in so many is noted and looked for. Their content decides which, so that
/// they are the same ones when it comes again.
const NOTED_ONE_IN: u64 = 4;
/// log2 of the number of windows noted at a time; of two with the same number the later one stays.
const NOTES_SHIFT: u32 = 18;

/// Finds the repeats among executions, which have shape numbers `shapes` and data accesses at
/// `addresses`, as many an execution as `data_count` says of its shape.
pub fn find(shapes: &[u32], addresses: &[u64], data_count: impl Fn(u32) -> usize) -> Spelled {
    let executions = &Executions::new(shapes, addresses, data_count);
    let mut spelled = Spelled::default();
    let mut notes = vec![0; 1 << NOTES_SHIFT];
    // Executions before `written` are in `spelled`, those before `place` were looked for.
    let (mut written, mut place) = (0, 0);
    let mut latest_distance = usize::MAX;
    while place < shapes.len() {
        let noted = executions.note(place, &mut notes);
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
        executions.spell(written..place - before, &mut spelled);
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
    executions.spell(written..shapes.len(), &mut spelled);
    spelled
}

/// Executions that can be compared at any place.
struct Executions<'a> {
    shapes: &'a [u32],
    addresses: &'a [u64],
    /// By execution, where its addresses begin; and where all end.
    begins: Vec<u32>,
    /// By execution, a hash of all executions before it, a polynomial in [`FACTOR`], from two of
    /// which that of the executions between follows (Karp and Rabin, 1987).
    hashes: Vec<u64>,
}

/// Odd, its bits random: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl<'a> Executions<'a> {
    fn new(
        shapes: &'a [u32],
        addresses: &'a [u64],
        data_count: impl Fn(u32) -> usize,
    ) -> Executions<'a> {
        let mut begins = Vec::with_capacity(shapes.len() + 1);
        let mut hashes = Vec::with_capacity(shapes.len() + 1);
        let (mut begin, mut hash) = (0, 0u64);
        for &shape in shapes {
            begins.push(begin as u32);
            hashes.push(hash);
            let end = begin + data_count(shape);
            let mix =
                |own: u64, &address: &u64| (own ^ address).wrapping_mul(FACTOR).rotate_left(29);
            let own = addresses[begin..end].iter().fold(u64::from(shape), mix);
            hash = hash
                .wrapping_mul(FACTOR)
                .wrapping_add(own.wrapping_mul(FACTOR));
            begin = end;
        }
        begins.push(begin as u32);
        hashes.push(hash);
        Executions {
            shapes,
            addresses,
            begins,
            hashes,
        }
    }

    /// Notes the window at `place`; where the one was that is noted under its number.
    fn note(&self, place: usize, notes: &mut [u32]) -> Option<usize> {
        let end = self.hashes.get(place + WINDOW)?;
        let before = self.hashes[place].wrapping_mul(FACTOR.wrapping_pow(WINDOW as u32));
        // The high bits of a product depend on all bits of its factors.
        let hash = end.wrapping_sub(before).wrapping_mul(FACTOR);
        if !(hash >> 32).is_multiple_of(NOTED_ONE_IN) {
            return None;
        }
        let note = &mut notes[(hash >> (64 - NOTES_SHIFT)) as usize];
        let earlier = std::mem::replace(note, place as u32 + 1);
        earlier.checked_sub(1).map(|earlier| earlier as usize)
    }

    fn of(&self, places: Range<usize>) -> (&[u32], &[u64]) {
        let addresses = self.begins[places.start] as usize..self.begins[places.end] as usize;
        (&self.shapes[places], &self.addresses[addresses])
    }

    /// Whether `count` executions from `place` on are there, and those from `earlier` on.
    fn same(&self, earlier: usize, place: usize, count: usize) -> bool {
        place + count <= self.shapes.len()
            && self.of(earlier..earlier + count) == self.of(place..place + count)
    }

    /// How many executions before `place` are those before `earlier`, at most `most`.
    fn same_before(&self, earlier: usize, place: usize, most: usize) -> usize {
        let same = |&back: &usize| self.same(earlier - back, place - back, 1);
        (1..=most.min(earlier)).take_while(same).count()
    }

    /// How many executions from `place` on are those from `earlier` on.
    fn same_after(&self, earlier: usize, place: usize) -> usize {
        let same = |&further: &usize| self.same(earlier + further, place + further, 1);
        (0..self.shapes.len() - place).take_while(same).count()
    }

    fn spell(&self, places: Range<usize>, spelled: &mut Spelled) {
        let (shapes, addresses) = self.of(places);
        spelled.shapes.extend_from_slice(shapes);
        spelled.addresses.extend_from_slice(addresses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Executions of shapes with one data access each, in all of which shape and address agree.
    fn find_in(shapes: &[u32]) -> Spelled {
        let addresses: Vec<u64> = shapes.iter().map(|&shape| u64::from(shape) * 8).collect();
        find(shapes, &addresses, |_| 1)
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
        let spelled = find(&shapes, &addresses, |_| 1);
        assert_eq!(spelled.repeats, []);
        assert_eq!((spelled.shapes, spelled.addresses), (shapes, addresses));
    }
}
