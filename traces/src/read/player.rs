//! Plays single chunks of a trace, on any thread, as line references.
//!
//! Decoding a chunk needs only the trace's definitions, so chunks are independent of each other. A
//! replay that has ordered their runs can decode them in any order.

use crate::codec::trace_filter::TraceFilter;
use crate::format::chunk::{Chunk, Decoder};
use crate::model::error::Error;
use crate::model::ids::{FunctionId, RequestId, ThreadId};
use crate::model::locator::Locator;
use crate::model::reference::Listener;
use crate::read::batch::Batch;
use crate::read::batch::hand_out::Whence;
use crate::read::calls::Calls;
use crate::read::trace::Trace;
use crate::read::wanted::Wanted;

/// A chunk of a trace: executions of one thread that can be played independently.
///
/// The replay order is that of the runs of all threads, sorted by stamp and then by thread. A run
/// that continues in the thread's next chunk has the same stamp there, and follows the chunks'
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// The thread.
    pub thread: ThreadId,
    /// Stamp of the first run.
    pub first_stamp: u64,
    /// Number of executions, selected or not.
    pub executions: u32,
    /// Index into the chunks of the thread.
    pub place: u32,
}

impl Trace {
    /// Returns the chunks with executions of these requests, or all chunks for `None`. They are
    /// sorted by their first stamp, then by thread, then by place in the thread. A [`Player`] plays
    /// them, in any order.
    pub fn chunks(&self, requests: Option<&[RequestId]>) -> Vec<ChunkRef> {
        let wanted = Wanted::new(requests, self.requests().len());
        let mut chunks = Vec::new();
        for (thread, stream) in self.contents.streams.iter().enumerate() {
            let thread = ThreadId::from_index(thread);
            for (place, chunk) in stream.chunks.iter().enumerate() {
                if wanted.has_some_in(&self.requests, thread, chunk) {
                    chunks.push(ChunkRef {
                        thread,
                        first_stamp: chunk.first_stamp,
                        executions: chunk.executions,
                        place: place as u32,
                    });
                }
            }
        }
        chunks.sort_by_key(|chunk| (chunk.first_stamp, chunk.thread));
        chunks
    }
}

/// Plays chunks of a trace; buffers are reused for each chunk.
pub struct Player<'t> {
    trace: &'t Trace,
    wanted: Wanted,
    /// By function: whether its entries are reported.
    breaks: Vec<bool>,
    /// By function: whether its entries must be examined.
    looked_at: Vec<bool>,
    calls: Option<&'t Calls>,
    /// Places in the chunk before which calls end.
    call_ends: Vec<u32>,
    decoder: Decoder,
    chunk: Chunk,
    batch: Batch,
    locator: Option<Locator<'t>>,
}

impl<'t> Player<'t> {
    /// Creates a player of the executions of these requests, or of everything for `None`. Entries
    /// of the functions that are set in `breaks`, by index, are reported; functions beyond its end
    /// are not.
    ///
    /// # Errors
    /// [`Error::Read`] if there is not enough memory for decompression.
    pub fn new(
        trace: &'t Trace,
        requests: Option<&[RequestId]>,
        breaks: &[bool],
    ) -> Result<Player<'t>, Error> {
        Ok(Player {
            trace,
            wanted: Wanted::new(requests, trace.requests().len()),
            breaks: breaks.to_vec(),
            looked_at: trace.numbered.recorded(breaks),
            calls: None,
            call_ends: Vec::new(),
            decoder: trace.decoder()?,
            chunk: Chunk::default(),
            batch: Batch::new(&trace.contents.templates, None),
            locator: trace.locator(),
        })
    }

    /// Also reports where these calls end.
    #[must_use]
    pub fn following(mut self, calls: Option<&'t Calls>) -> Player<'t> {
        self.calls = calls;
        self
    }

    /// Removes most references that change nothing in caches with this many set partitions. A
    /// [`TraceFilter`] removes each because of an earlier reference of the same request. Between
    /// the two there is no start of a run, no reported entry and no reported end of a call.
    ///
    /// # Panics
    /// As [`TraceFilter::new`].
    #[must_use]
    pub fn stripped(mut self, set_partitions: u64) -> Player<'t> {
        let filter = TraceFilter::new(set_partitions);
        self.batch = Batch::new(&self.trace.contents.templates, Some(filter));
        self
    }

    /// Plays one chunk of the player's trace.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the chunk contradicts itself. The listener has then received nothing.
    ///
    /// # Panics
    /// If the chunk belongs to another trace and this one has no chunk at its place.
    pub fn play(&mut self, chunk: ChunkRef, listener: &mut impl Listener) -> Result<(), Error> {
        let stream = &self.trace.contents.streams[chunk.thread.index()];
        let place = stream.chunks[chunk.place as usize];
        let before = place.executions_before;
        let own = before..before + u64::from(place.executions);
        let ends = self.calls.map(|calls| calls.ends_in(chunk.thread, own));
        let ends = ends.unwrap_or_default().iter();
        self.call_ends.clear();
        self.call_ends.extend(ends.map(|end| (end - before) as u32));
        let to = (&mut self.decoder, &mut self.chunk);
        self.trace.decode(place, to, &self.call_ends)?;
        let batch = &mut self.batch;
        batch.begin_chunk(&self.trace.contents.templates, &self.chunk, &self.looked_at);
        let requests = &self.trace.requests;
        let mut marks_passed = place.marks_before;
        let mut request = requests.after(chunk.thread, marks_passed);
        let mut marks = self.chunk.order.requests.iter().copied().peekable();
        let mut call_ends = self.call_ends.iter().copied().peekable();
        let mut execution = 0;
        let mut run_end = 0;
        let mut told = false;
        for run in &self.chunk.order.runs {
            run_end += run.executions;
            if let Some(locator) = &mut self.locator {
                locator.begin_run(chunk.thread, run.stamp);
            }
            told &= !self.trace.switches.has(chunk.thread, run.stamp);
            while execution < run_end {
                if marks.next_if_eq(&execution).is_some() {
                    marks_passed += 1;
                    request = requests.after(chunk.thread, marks_passed);
                }
                let until = marks.peek().map_or(run_end, |&mark| mark.min(run_end));
                let wanted = self.wanted.has(request);
                if wanted && !std::mem::replace(&mut told, true) {
                    listener.run(run.stamp);
                }
                while execution < until {
                    let number = before + u64::from(execution);
                    let returned = call_ends.next_if_eq(&execution).is_some();
                    let until = call_ends.peek().map_or(until, |&end| end.min(until));
                    execution += batch.fill(&self.chunk, execution..until);
                    if wanted {
                        let numbered = &self.trace.numbered;
                        let entered = batch.entered();
                        let entered = entered.map(|of| numbered.entered(chunk.thread, number, of));
                        let is_told = |of: &FunctionId| self.breaks.get(of.index()) == Some(&true);
                        let whence = Whence {
                            request,
                            number,
                            returned,
                            entered: entered.filter(is_told),
                        };
                        batch.hand_out(whence, self.locator.as_mut(), listener);
                    }
                }
            }
        }
        Ok(())
    }
}
