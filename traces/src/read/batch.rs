//! Plays a chunk as references, some executions at a time.
//!
//! Literals are decoded and their addresses found; a match is copied from where its source stands
//! in the memory of sources. Three executions in four are matches, most of them in
//! sequences of thousands. So the memory drops the references that cannot change any cache, and a
//! match costs a third of what its references would.

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

/// Some executions of a chunk, all of one request.
pub struct Batch {
    literals: Literals,
    memory: SourceMemory,
    /// The sources of the chunk's matches.
    sources: Sources,
    /// How many of its matches are used up.
    matches: usize,
    executions: u32,
    entered: Option<FunctionId>,
    /// What of the memory they are; `None` for literals that no match copies.
    remembered: Option<Remembered>,
    spread: Vec<LineReference>,
}

impl Batch {
    /// Room for the templates of a trace. A trace filter leaves out references.
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

    /// Goes to the beginning of a chunk that was just decoded. `breaks` are the functions to break
    /// at.
    pub fn begin_chunk(&mut self, templates: &Templates, chunk: &Chunk, breaks: &[bool]) {
        self.literals.begin_chunk(templates, chunk, breaks);
        self.matches = 0;
        self.sources.find(&chunk.matches);
        self.memory
            .begin_chunk(chunk.copied_references, &chunk.bounds);
    }

    /// Plays some of the `executions`, at least one and the next ones; how many.
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

    /// The function that its first execution enters, if it was begun for that.
    pub fn entered(&self) -> Option<FunctionId> {
        self.entered
    }

    /// The references of the batch, its spans, and the place that the spans give the first
    /// reference.
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

    /// How many fetches, loads and stores the batch makes.
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
