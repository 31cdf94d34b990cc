//! The references of sources: of executions that a later match copies.
//!
//! They are stored in order, without those that cannot change any cache. So a match is copied from
//! its source's first bound to the last. A reference is dropped because of an earlier one. No such
//! pair spans a place at which a copy may begin.

use super::literals::{Literals, Span};
use crate::codec::bounds::Bounds;
use crate::codec::trace_filter::TraceFilter;
use crate::model::execution::Kind;
use crate::model::ids::FunctionId;
use crate::model::reference::LineReference;
use std::ops::Range;

/// A position among the references.
#[derive(Clone, Copy, Default)]
pub struct Position {
    references: u32,
    spans: u32,
    /// Fetches, loads and stores of the executions before it.
    counts: [u64; 3],
}

impl Position {
    /// Returns the position as far after `self` as `there` is after `from`.
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

/// The references of some executions.
#[derive(Clone, Default)]
pub struct Remembered {
    /// Range of the references.
    pub references: Range<usize>,
    /// Range of the spans; their indices are those among all references.
    pub spans: Range<usize>,
    /// Numbers of fetches, loads and stores, including the removed ones.
    pub counts: [u64; 3],
}

/// Executions copied from a match's source.
pub struct CopiedMatch {
    /// Their references.
    pub remembered: Remembered,
    /// Number of executions.
    pub executions: u32,
    /// The function that the first one enters, if batches break at it.
    pub entered: Option<FunctionId>,
}

/// The references of a chunk's sources so far.
pub struct SourceMemory {
    references: Vec<LineReference>,
    spans: Vec<Span>,
    /// The current end position.
    end: Position,
    /// Position of each bound of the chunk; undefined for bounds that are not yet reached.
    marks: Vec<Position>,
    /// Number of bounds reached.
    passed: usize,
    /// Executions so far that enter a function to break at: place, function and position.
    entries: Vec<(u32, FunctionId, Position)>,
    filter: Option<TraceFilter>,
    /// Whether the last reference belongs to the previous execution.
    goes_on: bool,
}

impl SourceMemory {
    /// Creates an empty memory; a trace filter removes references.
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

    /// Clears the contents, and reserves space for a chunk with this many references.
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
            // Zeroed pages are allocated by the system only when they are written.
            self.references = bytemuck::allocation::zeroed_vec(room);
        }
    }

    /// Returns stored references.
    pub fn references(&self, references: Range<usize>) -> &[LineReference] {
        &self.references[references]
    }

    /// Returns the accesses among them that span lines.
    pub fn spans(&self, spans: Range<usize>) -> &[Span] {
        &self.spans[spans]
    }

    /// Returns the position of the next stored reference.
    pub fn end(&self) -> Position {
        self.end
    }

    /// Marks where an execution begins, if it is at a bound; returns the bounds after it.
    pub fn begin_execution<'b>(&mut self, place: u32, bounds: &'b Bounds) -> &'b [u32] {
        if bounds.places().get(self.passed) == Some(&place) {
            self.marks[self.passed] = self.end;
            self.passed += 1;
        }
        &bounds.places()[self.passed..]
    }

    /// Records that an execution enters a function to break at.
    pub fn enter(&mut self, place: u32, function: FunctionId, began: Position) {
        self.entries.push((place, function, began));
    }

    /// Skips executions that are not a source.
    pub fn skip(&mut self, literals: &Literals) {
        self.passed += literals.cuts.len();
        self.goes_on = false;
    }

    /// Stores executions, the first of which is at `place` in the chunk.
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

    /// Stores some of the references; returns the spans of the remaining references.
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

    /// Copies some of the `executions` of a match from `distance` executions earlier. They are
    /// stored if `is_source` returns true, because then they are a source themselves.
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

/// Returns the numbers of fetches, loads and stores.
pub fn count(references: &[LineReference]) -> [u64; 3] {
    // Loads and stores have one bit each; fetches have none.
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
