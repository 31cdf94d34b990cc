//! Matches: executions that equal earlier ones of the thread, including their data addresses.
//!
//! This is LZ77 (Ziv and Lempel, 1977) over executions. A server does the same work for every
//! request of a kind, on the same stack and often on the same objects. Three executions in four
//! therefore repeat long sequences of the same chunk. Such a sequence is stored as a *match*: its
//! length, and how many executions earlier its source begins. The other executions are *literals*.
//! zstd also finds these matches, but column by column: a reader would still have to predict each
//! address instead of copying it. The `match_finder` module finds the matches.

use std::ops::Range;

/// Executions that equal those `distance` executions earlier in the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Place of its first execution in the chunk.
    pub place: u32,
    /// Number of executions, at least 1.
    pub length: u32,
    /// How many executions earlier the source begins, at least 1 and at most `place`. Less than
    /// `length` if the match overlaps its source.
    pub distance: u32,
}

impl Match {
    /// Returns its source: the executions that it copies.
    pub fn source(&self) -> Range<u32> {
        let first = self.place - self.distance;
        first..first + self.length
    }

    /// Splits a match that overlaps its source into matches that are no longer than their distance.
    /// Each but the first can copy twice as much as the preceding one.
    pub fn apart(self) -> impl Iterator<Item = Match> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let next = Match {
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

/// A chunk's executions as literals and matches.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The matches by place; literals fill the gaps between them.
    pub matches: Vec<Match>,
    /// Template numbers of the literals.
    pub templates: Vec<u32>,
    /// Addresses of the literals' data accesses.
    pub addresses: Vec<u64>,
}

impl Parsed {
    /// Clears the contents and keeps the buffers.
    pub fn clear(&mut self) {
        self.matches.clear();
        self.templates.clear();
        self.addresses.clear();
    }

    /// Expands the matches: returns the template of every execution, and all addresses.
    /// `data_counts` has the number of data accesses of each template.
    pub fn expanded(&self, data_counts: &[u16]) -> Expanded<'_> {
        let count = |template: u32| usize::from(data_counts[template as usize]);
        let (mut templates, mut addresses) = (Vec::new(), Vec::new());
        let mut begins = vec![0];
        let mut literals = (self.templates.iter(), self.addresses.iter());
        let mut copy = |until: usize, distance: Option<u32>| {
            while templates.len() < until {
                if let Some(distance) = distance {
                    let earlier = templates.len() - distance as usize;
                    templates.push(templates[earlier]);
                    addresses.extend_from_within(begins[earlier]..begins[earlier + 1]);
                } else if let Some(&template) = literals.0.next() {
                    templates.push(template);
                    addresses.extend(literals.1.by_ref().take(count(template)));
                } else {
                    break;
                }
                begins.push(addresses.len());
            }
        };
        for matched in &self.matches {
            copy(matched.place as usize, None);
            let end = matched.place + matched.length;
            copy(end as usize, Some(matched.distance));
        }
        copy(usize::MAX, None);
        Expanded {
            matches: &self.matches,
            templates,
            addresses,
            begins,
        }
    }
}

/// All executions of a chunk, to be split into several chunks.
pub struct Expanded<'s> {
    matches: &'s [Match],
    /// Template number of each execution.
    pub templates: Vec<u32>,
    /// Addresses of all data accesses.
    pub addresses: Vec<u64>,
    /// Number of addresses before each execution, and before the end.
    begins: Vec<usize>,
}

impl Expanded<'_> {
    /// Returns the number of executions.
    pub fn executions(&self) -> u32 {
        self.templates.len() as u32
    }

    /// Returns the number of data accesses of these executions.
    pub fn data_accesses(&self, executions: &Range<u32>) -> u32 {
        let before = |place: u32| self.begins[place as usize] as u32;
        before(executions.end) - before(executions.start)
    }

    /// Extracts these executions. Of each match, it keeps the part whose source is among them.
    pub fn part(&self, executions: &Range<u32>) -> Parsed {
        let mut part = Parsed::default();
        let copy_literals = |part: &mut Parsed, places: Range<u32>| {
            let places = places.start as usize..places.end as usize;
            let addresses = self.begins[places.start]..self.begins[places.end];
            part.addresses.extend(&self.addresses[addresses]);
            part.templates.extend(&self.templates[places]);
        };
        let mut done = executions.start;
        for matched in self.matches {
            let begin = matched.place.max(executions.start + matched.distance);
            let end = executions.end.min(matched.place + matched.length);
            if begin < end {
                copy_literals(&mut part, done..begin);
                part.matches.push(Match {
                    place: begin - executions.start,
                    length: end - begin,
                    distance: matched.distance,
                });
                done = end;
            }
        }
        copy_literals(&mut part, done..executions.end);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_that_follows_itself_is_matches_of_twice_as_much_each() {
        let matched = |place, length, distance| Match {
            place,
            length,
            distance,
        };
        let apart: Vec<Match> = matched(10, 133, 7).apart().collect();
        let lengths = [
            (10, 7, 7),
            (17, 14, 14),
            (31, 28, 28),
            (59, 56, 56),
            (115, 28, 112),
        ];
        assert_eq!(
            apart,
            lengths.map(|(place, length, distance)| matched(place, length, distance))
        );
        assert!(apart.iter().all(|matched| matched.source().start == 3));
        assert_eq!(
            matched(10, 7, 8).apart().collect::<Vec<_>>(),
            [matched(10, 7, 8)]
        );
    }
}
