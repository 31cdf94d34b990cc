//! The references of sources: of executions that a later match copies.
//!
//! They stand one after the other, without those that cannot change any cache. So a match is copied
//! from its source's first bound to the last. A reference is dropped because of one before it, so
//! none is dropped because of one beyond a place at which a copy may begin.

use super::literals::{Literals, Span};
use crate::codec::bounds::Bounds;
use crate::codec::trace_filter::TraceFilter;
use crate::model::execution::Kind;
use crate::model::ids::FunctionId;
use crate::model::reference::LineReference;
use std::ops::Range;

/// A place among the references.
#[derive(Clone, Copy, Default)]
pub struct Position {
    references: u32,
    spans: u32,
    /// Fetches, loads and stores of the executions before it.
    counts: [u64; 3],
}

impl Position {
    /// So far after `here` as `there` is after `from`.
    fn moved(self, there: Position, from: Position) -> Position {
        let counts = std::array::from_fn(|kind| there.counts[kind] - from.counts[kind]);
        Position {
            references: self.references + (there.references - from.references),
            spans: self.spans + (there.spans - from.spans),
            counts: add(self.counts, counts),
        }
    }
}

fn add(counts: [u64; 3], more: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|kind| counts[kind] + more[kind])
}

/// What some executions reference.
#[derive(Clone, Default)]
pub struct Remembered {
    /// Which of the references.
    pub references: Range<usize>,
    /// Which of the spans; their places are those of all references.
    pub spans: Range<usize>,
    /// How many fetches, loads and stores there are, those left out included.
    pub counts: [u64; 3],
}

/// Executions of a match.
pub struct CopiedMatch {
    /// What they reference.
    pub remembered: Remembered,
    /// How many.
    pub executions: u32,
    /// The function that the first one enters, if batches break at it.
    pub entered: Option<FunctionId>,
}

/// The references of a chunk's sources so far.
pub struct SourceMemory {
    references: Vec<LineReference>,
    spans: Vec<Span>,
    /// Where its end is.
    end: Position,
    /// By bound of the chunk; those of bounds to come have no meaning.
    marks: Vec<Position>,
    /// How many bounds have come.
    passed: usize,
    /// The executions so far that enter a function to break at, and which.
    entries: Vec<(u32, FunctionId, Position)>,
    filter: Option<TraceFilter>,
    /// Whether the last reference is of the execution before the next.
    goes_on: bool,
}

impl SourceMemory {
    /// Remembers nothing yet; leaves out references if a trace filter is there.
    pub fn new(filter: Option<TraceFilter>) -> SourceMemory {
        SourceMemory {
            references: Vec::new(),
            spans: Vec::new(),
            end: Position::default(),
            marks: Vec::new(),
            passed: 0,
            entries: Vec::new(),
            filter,
            goes_on: false,
        }
    }

    /// Forgets all, and makes room for a chunk of so many references.
    pub fn begin_chunk(&mut self, references: usize, bounds: &Bounds) {
        self.spans.clear();
        self.end = Position::default();
        self.marks
            .resize(bounds.places().len(), Position::default());
        self.passed = 0;
        self.entries.clear();
        self.goes_on = false;
        let room = references + TraceFilter::AT_ONCE;
        if self.references.len() < room {
            // Zeroed pages are taken from the system only once something is put there.
            self.references = bytemuck::allocation::zeroed_vec(room);
        }
    }

    /// What is remembered.
    pub fn references(&self, references: Range<usize>) -> &[LineReference] {
        &self.references[references]
    }

    /// The accesses among it that span lines.
    pub fn spans(&self, spans: Range<usize>) -> &[Span] {
        &self.spans[spans]
    }

    /// Where what is taken in next begins.
    pub fn end(&self) -> Position {
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
    pub fn enter(&mut self, place: u32, function: FunctionId, began: Position) {
        self.entries.push((place, function, began));
    }

    /// Passes executions that are no source.
    pub fn skip(&mut self, literals: &Literals) {
        self.passed += literals.cuts.len();
        self.goes_on = false;
    }

    /// Takes in executions, the first of which has a `place` in the chunk.
    pub fn take(&mut self, literals: &Literals, place: u32, bounds: &Bounds) -> Remembered {
        let from = self.end;
        if !self.goes_on || literals.entered.is_some() || bounds.begins(place) {
            self.forget();
        }
        let mut begin = 0;
        let mut spans = &literals.spans[..];
        for &cut in &literals.cuts {
            spans = self.take_some(literals.references(), begin..cut, spans);
            begin = cut;
            self.marks[self.passed] = self.end;
            if bounds.begins(bounds.places()[self.passed]) {
                self.forget();
            }
            self.passed += 1;
        }
        let references = literals.references();
        self.take_some(references, begin..references.len(), spans);
        self.goes_on = true;
        self.remembered(from, self.end)
    }

    fn remembered(&self, from: Position, to: Position) -> Remembered {
        Remembered {
            references: from.references as usize..to.references as usize,
            spans: from.spans as usize..to.spans as usize,
            counts: Position::default().moved(to, from).counts,
        }
    }

    fn forget(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.forget();
        }
    }

    /// Takes in some of the references; of the spans those of the further references are left.
    fn take_some<'s>(
        &mut self,
        references: &[LineReference],
        range: Range<usize>,
        spans: &'s [Span],
    ) -> &'s [Span] {
        self.end.counts = add(self.end.counts, count(&references[range.clone()]));
        let mut begin = range.start;
        let own = spans.iter().take_while(|span| span.reference < range.end);
        let own = own.count();
        for &Span {
            reference,
            further_lines,
        } in &spans[..own]
        {
            self.append(&references[begin..reference]);
            begin = reference + 1;
            let first = references[reference];
            self.forget_line(first.line());
            self.append(&[first]);
            for further in 1..=further_lines.min(TraceFilter::MAX_SET_PARTITIONS as u64) {
                self.forget_line(first.line() + further);
            }
            self.end.counts[first.kind() as usize] += further_lines;
            self.end.spans += 1;
            self.spans.push(Span {
                reference: self.end.references as usize - 1,
                further_lines,
            });
        }
        self.append(&references[begin..range.end]);
        &spans[own..]
    }

    fn forget_line(&mut self, line: u64) {
        if let Some(filter) = &mut self.filter {
            filter.forget_line(line);
        }
    }

    fn append(&mut self, references: &[LineReference]) {
        for references in references.chunks(TraceFilter::AT_ONCE) {
            let room = &mut self.references[self.end.references as usize..];
            let room = room.first_chunk_mut().expect("room for all and some more");
            let count = match &mut self.filter {
                Some(filter) => filter.strip(references, room),
                None => {
                    room[..references.len()].copy_from_slice(references);
                    references.len()
                }
            };
            self.end.references += count as u32;
        }
    }

    /// Copies some of the `executions` of a match from `distance` executions earlier, and takes
    /// them in if `is_source` says that they are a source themselves.
    pub fn copy_match(
        &mut self,
        executions: Range<u32>,
        distance: u32,
        bounds: &Bounds,
        is_source: impl FnOnce(Range<u32>) -> bool,
    ) -> CopiedMatch {
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
        let is_source = is_source(first..last);
        let inner = &bounds.places()[self.passed..];
        let inner = inner.iter().take_while(|&&bound| bound < last).count();
        if is_source {
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
        CopiedMatch {
            remembered: self.remembered(from, to),
            executions: end - earlier.start,
            entered,
        }
    }

    fn entries_from(&self, place: u32) -> &[(u32, FunctionId, Position)] {
        let before = self.entries.partition_point(|entry| entry.0 < place);
        &self.entries[before..]
    }

    fn copy(&mut self, from: Position, to: Position) {
        let here = self.end;
        self.end = here.moved(to, from);
        let references = from.references as usize..to.references as usize;
        self.references
            .copy_within(references, here.references as usize);
        for place in from.spans..to.spans {
            let span = self.spans[place as usize];
            let reference = span.reference - from.references as usize + here.references as usize;
            self.spans.push(Span { reference, ..span });
        }
    }
}

/// How many fetches, loads and stores there are.
pub fn count(references: &[LineReference]) -> [u64; 3] {
    // Each has a bit of its own, but fetches.
    let loads = references
        .iter()
        .map(|reference| reference.bits() & 1)
        .sum::<u64>();
    let stores = references
        .iter()
        .map(|reference| reference.bits() >> 1 & 1)
        .sum();
    const { assert!(Kind::Load as u64 == 1 && Kind::Store as u64 == 2) }
    [references.len() as u64 - loads - stores, loads, stores]
}
