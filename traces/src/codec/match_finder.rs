//! The match finder: finds matches as executions arrive, like its counterpart in LZ77 compressors.
//!
//! A recorder calls it for every execution, so it accepts many executions at once. A few words
//! identify each execution. While a thread repeats earlier work, only these words are compared.
//! When it deviates, windows of executions are entered into a hash table. A window that is already
//! in the table begins the next match.

mod end;
mod window;

pub use window::HashTable;

use crate::codec::matches::{Match, Parsed};
use crate::codec::template::Size;
use end::{End, MOST_WORDS};
use std::ops::Range;
use window::{WINDOW, Window, hash_of};

/// Minimum length of a match at the distance of the preceding match: such a match is cheaper to
/// store.
const SHORTEST_AT_SAME_DISTANCE: usize = 4;

/// Finds matches among a thread's executions since its chunk began.
#[derive(Default)]
pub struct MatchFinder {
    /// Distinguishes this chunk's windows in the hash table from those of other chunks.
    chunk: u32,
    /// The words of all executions.
    words: Vec<u64>,
    /// The end of each execution.
    ends: Vec<End>,
    parsed: Parsed,
    /// Distance of the last match; 0 if there was none.
    distance: usize,
    /// Whether the last execution belongs to the last match.
    follows: bool,
    /// How many of the last executions are literals although they equal those at `distance`.
    agreed: usize,
    /// If known: how many of the next executions equal those at `distance` before one that differs.
    foreseen: Option<usize>,
    window: Window,
}

/// An arriving execution.
pub struct Arrival<'w, A> {
    /// The words that identify it, possibly followed by unrelated words.
    pub words: &'w [u64],
    /// Number of its words, at least one.
    pub count: usize,
    /// Number of its template.
    pub template: u32,
    /// Addresses of its data accesses.
    pub addresses: A,
    /// Number of its accesses.
    pub size: Size,
}

/// How much of the input continues a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Number of executions.
    pub executions: usize,
    /// Number of words.
    pub words: usize,
    /// Number of data accesses.
    pub data_accesses: usize,
}

impl MatchFinder {
    /// Adds an execution.
    #[inline]
    pub fn push(&mut self, table: &mut HashTable, arrival: Arrival<'_, impl Iterator<Item = u64>>) {
        if self.ends.is_empty() {
            self.chunk = table.next_chunk();
        }
        let place = self.ends.len();
        extend_by_few(&mut self.words, arrival.words, arrival.count);
        let end = self.end() + End::new(arrival.count, arrival.size);
        self.ends.push(end);
        let agrees = self.agrees(place);
        if self.follows && agrees {
            self.lengthen(1);
            return;
        }
        self.follows = false;
        self.parsed.templates.push(arrival.template);
        self.parsed.addresses.extend(arrival.addresses);
        self.agreed = if agrees { self.agreed + 1 } else { 0 };
        let earlier = self.enter_window(place, table);
        if self.agreed == SHORTEST_AT_SAME_DISTANCE {
            self.begin_match(self.distance, self.agreed);
        } else if let Some(earlier) = earlier {
            self.look_at_window(earlier, place + 1 - WINDOW);
        }
    }

    /// Adds as many whole executions from the start of `words` as continue the last match. `begins`
    /// recognizes the first word of an execution.
    #[inline]
    pub fn follow(&mut self, words: &[u64], begins: impl Fn(u64) -> bool) -> Followed {
        let mut followed = Followed::default();
        if self.distance == 0 || self.foreseen.is_some() {
            return followed;
        }
        while followed.words < words.len() {
            let source = self.ends.len() - self.distance;
            let from = self.begin(source).words();
            let (earlier, rest) = (&self.words[from..], &words[followed.words..]);
            // Most executions that differ do so in the first word.
            if rest[0] != earlier[0] {
                self.foreseen = Some(0);
                break;
            }
            let (same, begun) = same_values(earlier, rest, &begins);
            // The last execution may continue in either sequence.
            let ends = |words: &[u64]| words.get(same).is_none_or(|&next| begins(next));
            let is_whole = ends(rest) && ends(earlier);
            let count = begun.saturating_sub(usize::from(!is_whole));
            let least = if self.follows {
                1
            } else {
                SHORTEST_AT_SAME_DISTANCE
            };
            let differs = same < rest.len().min(earlier.len());
            if count < least {
                self.foreseen = differs.then_some(count);
                break;
            }
            let more = self.begin(source + count) - self.begin(source);
            if !self.end().has_room(more) {
                break;
            }
            let taken = more.words();
            if !self.follows {
                self.begin_match(self.distance, self.agreed);
            }
            self.words.extend_from_slice(&rest[..taken]);
            self.copy_ends(source..source + count);
            self.lengthen(count);
            followed.executions += count;
            followed.words += taken;
            followed.data_accesses += more.data();
            if differs {
                self.foreseen = Some(0);
                break;
            }
        }
        followed
    }

    /// Returns whether an execution with this many words and this size can be added.
    pub fn has_room(&self, words: usize, size: Size) -> bool {
        words <= MOST_WORDS && self.end().has_room(End::new(words, size))
    }

    /// Returns the number of executions.
    pub fn executions(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of data accesses.
    pub fn data_accesses(&self) -> usize {
        self.end().data()
    }

    /// Returns the number of accesses, including fetches.
    pub fn references(&self) -> usize {
        self.end().data() + self.end().further_fetches() + self.executions()
    }

    /// Returns the result; the next execution begins another chunk.
    pub fn take(&mut self) -> Parsed {
        self.words.clear();
        self.ends.clear();
        (self.distance, self.follows, self.agreed) = (0, false, 0);
        self.foreseen = None;
        std::mem::take(&mut self.parsed)
    }

    /// Uses these buffers for the literals; must be called while there are none.
    pub fn make_room(&mut self, room: Parsed) {
        self.parsed = room;
    }

    /// Returns whether the match finder was never used.
    pub fn is_new(&self) -> bool {
        self.words.capacity() == 0
    }

    fn end(&self) -> End {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Returns the totals before an execution.
    fn begin(&self, place: usize) -> End {
        let before = place.checked_sub(1);
        before.map_or(End::default(), |before| self.ends[before])
    }

    fn words_of(&self, places: Range<usize>) -> &[u64] {
        let (begin, end) = (self.begin(places.start), self.begin(places.end));
        &self.words[begin.words()..end.words()]
    }

    /// Returns whether `count` executions from `earlier` on equal those from `place` on.
    fn same(&self, earlier: usize, place: usize, count: usize) -> bool {
        self.words_of(earlier..earlier + count) == self.words_of(place..place + count)
    }

    /// Returns whether an execution equals the one at the distance of the last match.
    fn agrees(&mut self, place: usize) -> bool {
        let foreseen = self.foreseen;
        self.foreseen = foreseen.and_then(|count| count.checked_sub(1));
        if foreseen == Some(0) || self.distance == 0 || place < self.distance {
            return false;
        }
        let earlier = self.words_of(place - self.distance..place - self.distance + 1);
        let its = self.words_of(place..place + 1);
        // Most that differ do so in the first word, and all are short: a comparison of slices would
        // call memcmp.
        earlier.len() == its.len() && earlier.iter().zip(its).all(|(word, other)| word == other)
    }

    /// Adds the ends of executions that are repeated.
    fn copy_ends(&mut self, sources: Range<usize>) {
        let further = self.end() - self.begin(sources.start);
        let first = self.ends.len();
        self.ends.resize(first + sources.len(), End::default());
        // A repeated sequence is never longer than its distance.
        let (earlier, new) = self.ends.split_at_mut(first);
        for (new, &earlier) in new.iter_mut().zip(&earlier[sources]) {
            *new = earlier + further;
        }
    }

    /// Adds the last `count` executions to the last match.
    fn lengthen(&mut self, count: usize) {
        if let Some(matched) = self.parsed.matches.last_mut() {
            matched.length += count as u32;
        }
    }

    /// Returns the number of literals since the last match.
    fn fresh(&self) -> usize {
        let last = self.parsed.matches.last();
        let end = last.map_or(0, |matched| matched.place + matched.length);
        self.ends.len() - end as usize
    }

    /// Enters the window that ends with the execution at `place`, if it contains only literals. A
    /// repeated sequence is thus found at its last literal occurrence. Returns the place of the
    /// previous window with the same hash.
    #[inline]
    fn enter_window(&mut self, place: usize, table: &mut HashTable) -> Option<usize> {
        let new = match self.fresh() {
            ..WINDOW => return None,
            WINDOW => {
                self.window = Window::default();
                WINDOW
            }
            _ => 1,
        };
        let mut hash = 0;
        for place in place + 1 - new..=place {
            let its = hash_of(self.words_of(place..place + 1));
            hash = self.window.advance(place, its);
        }
        table.enter(hash, self.chunk, place + 1 - WINDOW)
    }

    /// Begins a match if the window at `place` equals the one at `earlier`. The window's executions
    /// are literals so far.
    fn look_at_window(&mut self, earlier: usize, place: usize) {
        if earlier >= place || !self.same(earlier, place, WINDOW) {
            return;
        }
        let same = |&back: &usize| self.same(earlier - back, place - back, 1);
        let most = earlier.min(self.fresh() - WINDOW);
        let before = (1..=most).take_while(same).count();
        self.begin_match(place - earlier, before + WINDOW);
    }

    /// Turns the last `length` executions, which are literals, into a match with those `distance`
    /// earlier.
    fn begin_match(&mut self, distance: usize, length: usize) {
        let count = self.ends.len();
        let place = count - length;
        let data_accesses = (self.end() - self.begin(place)).data();
        let parsed = &mut self.parsed;
        parsed.templates.truncate(parsed.templates.len() - length);
        let kept = parsed.addresses.len() - data_accesses;
        parsed.addresses.truncate(kept);
        parsed.matches.push(Match {
            place: place as u32,
            length: length as u32,
            distance: distance as u32,
        });
        (self.distance, self.follows, self.agreed) = (distance, true, 0);
        self.foreseen = None;
    }
}

/// Appends the first `count` of `words`. Up to four words are copied as four, because a processor
/// cannot predict their number.
#[inline(always)]
fn extend_by_few(all: &mut Vec<u64>, words: &[u64], count: usize) {
    match words.first_chunk::<4>() {
        Some(four) if count <= 4 => {
            let end = all.len() + count;
            all.extend_from_slice(four);
            all.truncate(end);
        }
        _ => all.extend_from_slice(&words[..count]),
    }
}

/// Returns the length of the common prefix in words, and how many of these words begin an
/// execution.
#[inline(always)]
fn same_values(words: &[u64], others: &[u64], begins: impl Fn(u64) -> bool) -> (usize, usize) {
    let (eights, _) = words.as_chunks::<8>();
    let (other_eights, _) = others.as_chunks::<8>();
    let (mut same, mut begun) = (0, 0);
    for (eight, other) in eights.iter().zip(other_eights) {
        let pairs = eight.iter().zip(other);
        // A comparison of arrays would call memcmp.
        if pairs.fold(0, |all, (word, other)| all | word ^ other) != 0 {
            break;
        }
        same += 8;
        begun += eight
            .iter()
            .map(|&word| u64::from(begins(word)))
            .sum::<u64>();
    }
    let rest = words[same..].iter().zip(&others[same..]);
    let rest = rest.take_while(|(word, other)| word == other);
    let (more, more_begun) = rest.fold((0, 0), |(same, begun), (&word, _)| {
        (same + 1, begun + u64::from(begins(word)))
    });
    (same + more, (begun + more_begun) as usize)
}

#[cfg(test)]
mod tests;
