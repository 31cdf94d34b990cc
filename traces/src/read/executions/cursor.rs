//! One thread's place in a trace, and the inner loop of every replay.
//!
//! Executions are played some hundreds at a time into a buffer that fits into the first-level
//! cache. A loop over many executions keeps values in registers that a call per execution would
//! reload.

use super::decompressed::Decompressed;
use crate::codec::template::{Template, Templates};
use crate::format::chunk::{self, Chunk};
use crate::model::execution::{Access, Kind};
use crate::model::ids::RequestId;

/// Played executions that are not yet returned.
pub struct PlayedBuffer {
    /// In replay order.
    pub executions: Vec<PlayedExecution>,
    /// The accesses of all of them in order, followed by unused space.
    pub accesses: Vec<Access>,
    enough: usize,
}

/// A played execution.
#[derive(Clone, Copy)]
pub struct PlayedExecution {
    /// End of its accesses; they begin at the end of the preceding execution's.
    pub end: u32,
    /// The code block's number.
    pub code_block: u32,
    /// The template's number.
    pub template: u32,
    /// 1 + the number of the function that the code block enters, or 0.
    pub entry: u32,
}

impl PlayedBuffer {
    /// Creates a buffer for the templates of a trace.
    pub fn new(templates: &Templates) -> PlayedBuffer {
        // 24 KiB, followed by space for one more execution of any size.
        let enough = 1024;
        let unused = Access {
            address: 0,
            pc: 0,
            size_bytes: 1,
            kind: Kind::Fetch,
        };
        PlayedBuffer {
            executions: Vec::new(),
            accesses: vec![unused; enough + templates.longest()],
            enough,
        }
    }
}

/// A thread's place in its stream.
#[derive(Default)]
pub struct Cursor {
    /// Index of the thread's next chunk.
    pub next_chunk: usize,
    /// The runs and request marks of the chunk being played.
    pub order: chunk::ChunkOrder,
    /// Index of the current run.
    pub run: usize,
    /// Request marks of the thread so far.
    pub marks_passed: u32,
    /// The request that the thread is serving.
    pub request: Option<RequestId>,
    /// Executions of the thread before the chunk.
    pub executions_before: u64,
    /// The chunk's templates.
    templates: Vec<Template>,
    decompressed: Decompressed,
    execution: usize,
    access: usize,
    mark: usize,
}

impl Cursor {
    /// Begins a chunk that was just decoded, and swaps it with the one before.
    pub fn begin_chunk(&mut self, templates: &Templates, chunk: &mut Chunk) {
        self.next_chunk += 1;
        self.order = std::mem::take(&mut chunk.order);
        self.run = 0;
        self.execution = 0;
        self.access = 0;
        self.mark = 0;
        self.templates.clear();
        let own = chunk
            .templates
            .iter()
            .map(|&template| templates.get(template));
        self.templates.extend(own);
        let data_counts = self.templates.iter().map(|template| template.data_count);
        self.decompressed.begin(chunk, data_counts);
    }

    /// Returns the number of the thread's executions so far.
    pub fn executions(&self) -> u64 {
        self.executions_before + self.execution as u64
    }

    /// Returns whether the next execution begins a request, and if so passes the mark.
    pub fn passes_mark(&mut self) -> bool {
        let passes = self.next_mark() == self.execution;
        self.mark += usize::from(passes);
        self.marks_passed += u32::from(passes);
        passes
    }

    fn next_mark(&self) -> usize {
        let mark = self.order.requests.get(self.mark);
        mark.map_or(usize::MAX, |&mark| mark as usize)
    }

    /// Plays at least one and at most `most` executions. Only the first may begin a request.
    /// Returns how many were played.
    pub fn play(&mut self, most: u32, templates: &Templates, played: &mut PlayedBuffer) -> u32 {
        let most = (most as usize).min(self.next_mark() - self.execution);
        let most = most.min(played.enough);
        self.decompressed.reach(self.execution + most);
        let places = &self.decompressed.places[self.execution..][..most];
        let mut addresses = &self.decompressed.addresses[self.access..];
        let addresses_before = addresses.len();
        let mut end = 0;
        played.executions.clear();
        for &place in places {
            let template = &self.templates[usize::from(place)];
            let room = &mut played.accesses[end..];
            let (accesses, holes) = templates.expand(template, room);
            let (own, rest) = addresses.split_at(holes.len());
            addresses = rest;
            for (&hole, &address) in holes.iter().zip(own) {
                accesses[usize::from(hole)].address = address;
            }
            end += accesses.len();
            played.executions.push(PlayedExecution {
                end: end as u32,
                code_block: template.code_block,
                template: template.number,
                entry: template.entry,
            });
            if end >= played.enough {
                break;
            }
        }
        let count = played.executions.len();
        self.execution += count;
        self.access += addresses_before - addresses.len();
        count as u32
    }
}
