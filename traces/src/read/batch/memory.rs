//! The touches of executions that are repeated later.
//!
//! They stand one after the other, those left out that no cache can tell from nothing, so a repeat
//! is copied from where its source's first bound is to where its last is. A touch is left out for
//! one before it, so none is left out across a place from which something may be copied.

use super::literals::{Literals, Span};
use crate::codec::bounds::Bounds;
use crate::codec::thin::Thinner;
use crate::model::execution::Kind;
use crate::model::touch::Touch;
use std::ops::Range;

/// A place among the touches.
#[derive(Clone, Copy, Default)]
pub struct Mark {
    touches: u32,
    spans: u32,
    /// Fetches, loads and stores of the executions before it.
    counts: [u64; 3],
}

impl Mark {
    /// So far after `here` as `there` is after `from`.
    fn moved(self, there: Mark, from: Mark) -> Mark {
        let counts = std::array::from_fn(|kind| there.counts[kind] - from.counts[kind]);
        Mark {
            touches: self.touches + (there.touches - from.touches),
            spans: self.spans + (there.spans - from.spans),
            counts: add(self.counts, counts),
        }
    }
}

fn add(counts: [u64; 3], more: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|kind| counts[kind] + more[kind])
}

/// What some executions touch.
#[derive(Clone, Default)]
pub struct Remembered {
    /// Which of the touches.
    pub touches: Range<usize>,
    /// Which of the spans; their places are those of all touches.
    pub spans: Range<usize>,
    /// How many fetches, loads and stores there are, those left out included.
    pub counts: [u64; 3],
}

/// Executions that a repeat makes once more.
pub struct Again {
    /// What they touch.
    pub remembered: Remembered,
    /// How many.
    pub executions: u32,
    /// The function that the first one enters, if batches break at it.
    pub entered: Option<u32>,
}

/// What a block's executions so far touch that are repeated later.
pub struct Memory {
    touches: Vec<Touch>,
    spans: Vec<Span>,
    /// Where its end is.
    end: Mark,
    /// By bound of the block; those of bounds to come have no meaning.
    marks: Vec<Mark>,
    /// How many bounds have come.
    passed: usize,
    /// The executions so far that enter a function to break at, and which.
    entries: Vec<(u32, u32, Mark)>,
    thinner: Option<Thinner>,
    /// Whether the last touch is of the execution before the next.
    goes_on: bool,
}

impl Memory {
    /// Remembers nothing yet; leaves out touches if a thinner is there.
    pub fn new(thinner: Option<Thinner>) -> Memory {
        Memory {
            touches: Vec::new(),
            spans: Vec::new(),
            end: Mark::default(),
            marks: Vec::new(),
            passed: 0,
            entries: Vec::new(),
            thinner,
            goes_on: false,
        }
    }

    /// Forgets all, and makes room for a block of so many touches.
    pub fn begin_block(&mut self, touches: usize, bounds: &Bounds) {
        self.spans.clear();
        self.end = Mark::default();
        self.marks.resize(bounds.places().len(), Mark::default());
        self.passed = 0;
        self.entries.clear();
        self.goes_on = false;
        let room = touches + Thinner::AT_ONCE;
        if self.touches.len() < room {
            // Zeroed pages are taken from the system only once something is put there.
            self.touches = bytemuck::allocation::zeroed_vec(room);
        }
    }

    /// What is remembered.
    pub fn touches(&self, touches: Range<usize>) -> &[Touch] {
        &self.touches[touches]
    }

    /// The accesses among it that span lines.
    pub fn spans(&self, spans: Range<usize>) -> &[Span] {
        &self.spans[spans]
    }

    /// Where what is taken in next begins.
    pub fn end(&self) -> Mark {
        self.end
    }

    /// Marks where an execution begins, if at a bound; the bounds after it.
    pub fn begin_execution<'b>(&mut self, place: u32, bounds: &'b Bounds) -> &'b [u32] {
        if bounds.places().get(self.passed) == Some(&place) {
            self.marks[self.passed] = self.end;
            self.passed += 1;
        }
        &bounds.places()[self.passed..]
    }

    /// Notes that an execution enters a function to break at.
    pub fn enter(&mut self, place: u32, function: u32, began: Mark) {
        self.entries.push((place, function, began));
    }

    /// Passes executions that are not repeated.
    pub fn skip(&mut self, literals: &Literals) {
        self.passed += literals.cuts.len();
        self.goes_on = false;
    }

    /// Takes in executions, the first of which has a `place` in the block.
    pub fn take(&mut self, literals: &Literals, place: u32, bounds: &Bounds) -> Remembered {
        let from = self.end;
        if !self.goes_on || literals.entered.is_some() || bounds.begins(place) {
            self.forget();
        }
        let mut begin = 0;
        let mut spans = &literals.spans[..];
        for &cut in &literals.cuts {
            spans = self.take_some(literals.touches(), begin..cut, spans);
            begin = cut;
            self.marks[self.passed] = self.end;
            if bounds.begins(bounds.places()[self.passed]) {
                self.forget();
            }
            self.passed += 1;
        }
        let touches = literals.touches();
        self.take_some(touches, begin..touches.len(), spans);
        self.goes_on = true;
        self.remembered(from, self.end)
    }

    fn remembered(&self, from: Mark, to: Mark) -> Remembered {
        Remembered {
            touches: from.touches as usize..to.touches as usize,
            spans: from.spans as usize..to.spans as usize,
            counts: Mark::default().moved(to, from).counts,
        }
    }

    fn forget(&mut self) {
        if let Some(thinner) = &mut self.thinner {
            thinner.forget();
        }
    }

    /// Takes in some of the touches; of the spans those of the further touches are left.
    fn take_some<'s>(
        &mut self,
        touches: &[Touch],
        range: Range<usize>,
        spans: &'s [Span],
    ) -> &'s [Span] {
        self.end.counts = add(self.end.counts, count(&touches[range.clone()]));
        let mut begin = range.start;
        let own = spans.iter().take_while(|span| span.touch < range.end);
        let own = own.count();
        for &Span {
            touch,
            further_lines,
        } in &spans[..own]
        {
            self.append(&touches[begin..touch]);
            begin = touch + 1;
            let first = touches[touch];
            self.forget_line(first.line());
            self.append(&[first]);
            for further in 1..=further_lines.min(Thinner::MOST_RESIDUES as u64) {
                self.forget_line(first.line() + further);
            }
            self.end.counts[first.kind() as usize] += further_lines;
            self.end.spans += 1;
            self.spans.push(Span {
                touch: self.end.touches as usize - 1,
                further_lines,
            });
        }
        self.append(&touches[begin..range.end]);
        &spans[own..]
    }

    fn forget_line(&mut self, line: u64) {
        if let Some(thinner) = &mut self.thinner {
            thinner.forget_line(line);
        }
    }

    fn append(&mut self, touches: &[Touch]) {
        for touches in touches.chunks(Thinner::AT_ONCE) {
            let room = &mut self.touches[self.end.touches as usize..];
            let room = room.first_chunk_mut().expect("room for all and some more");
            let count = match &mut self.thinner {
                Some(thinner) => thinner.thin(touches, room),
                None => {
                    room[..touches.len()].copy_from_slice(touches);
                    touches.len()
                }
            };
            self.end.touches += count as u32;
        }
    }

    /// Makes some of the `executions` once more, of which a repeat says that they are those
    /// `distance` earlier, and takes them in if `is_repeated` says so of them.
    pub fn repeat(
        &mut self,
        executions: Range<u32>,
        distance: u32,
        bounds: &Bounds,
        is_repeated: impl FnOnce(Range<u32>) -> bool,
    ) -> Again {
        let first = executions.start;
        let earlier = first - distance..executions.end - distance;
        let mut entries = self.entries_from(earlier.start).iter().peekable();
        let entry = entries.next_if(|(place, ..)| *place == earlier.start);
        let next = entries.next().filter(|(place, ..)| *place < earlier.end);
        let end = next.map_or(earlier.end, |(place, ..)| *place);
        let mark = |place| self.marks[bounds.index(place)];
        let from = entry.map_or_else(|| mark(earlier.start), |&(.., mark)| mark);
        let to = next.map_or_else(|| mark(end), |&(.., mark)| mark);
        let entered = entry.map(|&(_, function, _)| function);
        let last = end + distance;
        let here = self.end;
        let is_repeated = is_repeated(first..last);
        let inner = &bounds.places()[self.passed..];
        let inner = inner.iter().take_while(|&&bound| bound < last).count();
        if is_repeated {
            for &bound in &bounds.places()[self.passed..][..inner] {
                let there = self.marks[bounds.index(bound - distance)];
                self.marks[self.passed] = here.moved(there, from);
                self.passed += 1;
            }
            self.copy(from, to);
        } else {
            self.passed += inner;
        }
        self.goes_on = false;
        Again {
            remembered: self.remembered(from, to),
            executions: end - earlier.start,
            entered,
        }
    }

    fn entries_from(&self, place: u32) -> &[(u32, u32, Mark)] {
        let before = self.entries.partition_point(|entry| entry.0 < place);
        &self.entries[before..]
    }

    fn copy(&mut self, from: Mark, to: Mark) {
        let here = self.end;
        self.end = here.moved(to, from);
        let touches = from.touches as usize..to.touches as usize;
        self.touches.copy_within(touches, here.touches as usize);
        for place in from.spans..to.spans {
            let span = self.spans[place as usize];
            let touch = span.touch - from.touches as usize + here.touches as usize;
            self.spans.push(Span { touch, ..span });
        }
    }
}

/// How many fetches, loads and stores there are.
pub fn count(touches: &[Touch]) -> [u64; 3] {
    // Each has a bit of its own, but fetches.
    let loads = touches.iter().map(|touch| touch.bits() & 1).sum::<u64>();
    let stores = touches.iter().map(|touch| touch.bits() >> 1 & 1).sum();
    const { assert!(Kind::Load as u64 == 1 && Kind::Store as u64 == 2) }
    [touches.len() as u64 - loads - stores, loads, stores]
}
