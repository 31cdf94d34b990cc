//! Plays a chunk as references, in batches of executions.
//!
//! Literals are decoded and their addresses computed; a match is copied from its source in the
//! source memory. Three executions in four are matches, most of them in sequences of thousands. The
//! source memory therefore drops references that cannot change any cache. A match then costs a
//! third of the time.

pub(super) mod hand_out;
mod literals;
mod source_memory;

use crate::codec::sources::Sources;
use crate::codec::template::Templates;
use crate::codec::trace_filter::TraceFilter;
use crate::format::chunk::Chunk;
use crate::model::ids::FunctionId;
use crate::model::reference::LineReference;
use literals::{Literals, Span};
use source_memory::{Remembered, SourceMemory};
use std::ops::Range;

/// Some consecutive executions of a chunk, all of one request.
pub struct Batch {
    literals: Literals,
    memory: SourceMemory,
    /// The sources of the chunk's matches.
    sources: Sources,
    /// How many of its matches are played.
    matches: usize,
    executions: u32,
    entered: Option<FunctionId>,
    /// Their references in the source memory; `None` for literals that no match copies.
    remembered: Option<Remembered>,
    spread: Vec<LineReference>,
}

impl Batch {
    /// Creates buffers for the templates of a trace. A trace filter removes references.
    pub fn new(templates: &Templates, filter: Option<TraceFilter>) -> Batch {
        Batch {
            literals: Literals::new(templates),
            memory: SourceMemory::new(filter),
            sources: Sources::default(),
            matches: 0,
            executions: 0,
            entered: None,
            remembered: None,
            spread: Vec::new(),
        }
    }

    /// Begins a chunk that was just decoded. `breaks` selects the functions to break at.
    pub fn begin_chunk(&mut self, templates: &Templates, chunk: &Chunk, breaks: &[bool]) {
        self.literals.begin_chunk(templates, chunk, breaks);
        self.matches = 0;
        self.sources.find(&chunk.matches);
        self.memory
            .begin_chunk(chunk.copied_references, &chunk.bounds);
    }

    /// Plays at least the first of `executions`, which come next; returns how many were played.
    pub fn fill(&mut self, chunk: &Chunk, executions: Range<u32>) -> u32 {
        let (first, bounds) = (executions.start, &chunk.bounds);
        let later = self.memory.begin_execution(first, bounds);
        let began = self.memory.end();
        let next = chunk.matches.get(self.matches);
        if let Some(matched) = next.filter(|matched| matched.place <= first) {
            let end = matched.place + matched.length;
            let executions = first..executions.end.min(end);
            let is_source = |executions| self.sources.has_some_of(executions);
            let memory = &mut self.memory;
            let copied = memory.copy_match(executions, matched.distance, bounds, is_source);
            self.executions = copied.executions;
            self.entered = copied.entered;
            self.remembered = Some(copied.remembered);
            self.matches += usize::from(first + self.executions == end);
        } else {
            let until = next.map_or(executions.end, |matched| matched.place);
            let most = until.min(executions.end) - first;
            let later = later.iter().map(|bound| bound - first);
            self.literals.play(chunk, most, later);
            self.executions = self.literals.executions;
            self.entered = self.literals.entered;
            let played = first..first + self.executions;
            self.remembered = None;
            if self.sources.has_some_of(played) {
                self.remembered = Some(self.memory.take(&self.literals, first, bounds));
            } else {
                self.memory.skip(&self.literals);
            }
        }
        if let Some(function) = self.entered {
            self.memory.enter(first, function, began);
        }
        self.executions
    }

    /// Returns the function that the first execution enters, if the batch breaks at it.
    pub fn entered(&self) -> Option<FunctionId> {
        self.entered
    }

    /// Returns the references of the batch, its spans, and the place of the first reference in
    /// terms of the spans.
    fn references(&self) -> (&[LineReference], &[Span], usize) {
        match &self.remembered {
            Some(Remembered {
                references, spans, ..
            }) => (
                self.memory.references(references.clone()),
                self.memory.spans(spans.clone()),
                references.start,
            ),
            None => (self.literals.references(), &self.literals.spans, 0),
        }
    }

    /// Returns the numbers of fetches, loads and stores in the batch.
    fn counts(&self) -> [u64; 3] {
        if let Some(remembered) = &self.remembered {
            return remembered.counts;
        }
        let (references, spans, _) = self.references();
        let mut counts = source_memory::count(references);
        for span in spans {
            counts[references[span.reference].kind() as usize] += span.further_lines;
        }
        counts
    }
}
