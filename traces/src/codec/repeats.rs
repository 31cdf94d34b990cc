//! Executions that do once more what the thread did before, address for address.
//!
//! A server does the same for every request of a kind, on the same stack and often on the same
//! objects: three executions in four stand in long sequences that have stood in the block before.
//! Such a sequence is kept as a *repeat*: its length, and how far back it stood (LZ77, Ziv and
//! Lempel, 1977, over executions). zstd finds this repetition too, but column by column: a reader
//! would still predict each address that it can copy. The `match_finder` module finds the repeats.

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
    /// Forgets all but keeps the room.
    pub fn clear(&mut self) {
        self.repeats.clear();
        self.shapes.clear();
        self.addresses.clear();
    }

    /// All executions, what repeats included: a shape each, and the addresses of all.
    /// `data_counts` says how many each shape has.
    pub fn written_out(&self, data_counts: &[u16]) -> WrittenOut<'_> {
        let count = |shape: u32| usize::from(data_counts[shape as usize]);
        let (mut shapes, mut addresses) = (Vec::new(), Vec::new());
        let mut begins = vec![0];
        let mut spelled = (self.shapes.iter(), self.addresses.iter());
        let mut copy = |until: usize, distance: Option<u32>| {
            while shapes.len() < until {
                if let Some(distance) = distance {
                    let earlier = shapes.len() - distance as usize;
                    shapes.push(shapes[earlier]);
                    addresses.extend_from_within(begins[earlier]..begins[earlier + 1]);
                } else if let Some(&shape) = spelled.0.next() {
                    shapes.push(shape);
                    addresses.extend(spelled.1.by_ref().take(count(shape)));
                } else {
                    break;
                }
                begins.push(addresses.len());
            }
        };
        for repeat in &self.repeats {
            copy(repeat.place as usize, None);
            let end = repeat.place + repeat.length;
            copy(end as usize, Some(repeat.distance));
        }
        copy(usize::MAX, None);
        WrittenOut {
            repeats: &self.repeats,
            shapes,
            addresses,
            begins,
        }
    }
}

/// All executions of a block, to be cut into several.
pub struct WrittenOut<'s> {
    repeats: &'s [Repeat],
    /// A shape number each.
    pub shapes: Vec<u32>,
    /// Addresses of the data accesses of all.
    pub addresses: Vec<u64>,
    /// By execution, and at the end, how many addresses there are before.
    begins: Vec<usize>,
}

impl WrittenOut<'_> {
    /// Number of executions.
    pub fn executions(&self) -> u32 {
        self.shapes.len() as u32
    }

    /// Number of data accesses of these executions.
    pub fn data_accesses(&self, executions: &Range<u32>) -> u32 {
        let before = |place: u32| self.begins[place as usize] as u32;
        before(executions.end) - before(executions.start)
    }

    /// These executions. Of a repeat that is left which repeats them too.
    pub fn part(&self, executions: &Range<u32>) -> Spelled {
        let mut part = Spelled::default();
        let spell = |part: &mut Spelled, places: Range<u32>| {
            let places = places.start as usize..places.end as usize;
            let addresses = self.begins[places.start]..self.begins[places.end];
            part.addresses.extend(&self.addresses[addresses]);
            part.shapes.extend(&self.shapes[places]);
        };
        let mut done = executions.start;
        for repeat in self.repeats {
            let begin = repeat.place.max(executions.start + repeat.distance);
            let end = executions.end.min(repeat.place + repeat.length);
            if begin < end {
                spell(&mut part, done..begin);
                part.repeats.push(Repeat {
                    place: begin - executions.start,
                    length: end - begin,
                    distance: repeat.distance,
                });
                done = end;
            }
        }
        spell(&mut part, done..executions.end);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
