//! Plays a trace: the executions of all threads, in the order of their stamps.
//!
//! The next run is always the one with the smallest stamp. Each thread's chunks are decoded one at
//! a time when the merge reaches them, so at most one chunk per thread is in memory.

mod cursor;
mod decompressed;

use crate::format::chunk::{Chunk, ChunkOrder, Decoder};
use crate::model::error::Error;
use crate::model::execution::Execution;
use crate::model::ids::{FunctionId, RequestId, ThreadId};
use crate::model::locator::Locator;
use crate::read::trace::Trace;
use crate::read::wanted::Wanted;
use cursor::{Cursor, PlayedBuffer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Trace {
    /// Returns all executions, in replay order.
    pub fn executions(&self) -> Executions<'_> {
        self.executions_chosen(None)
    }

    /// Returns only the executions of these requests, in replay order. Chunks without any of them
    /// are not read.
    pub fn executions_of(&self, requests: &[RequestId]) -> Executions<'_> {
        self.executions_chosen(Some(requests))
    }

    /// Returns the executions of these requests, or all for `None`.
    pub fn executions_chosen(&self, requests: Option<&[RequestId]>) -> Executions<'_> {
        let wanted = Wanted::new(requests, self.requests().len());
        Executions::new(self, wanted)
    }

    /// Returns how many executions that reads: all executions of the chunks with some of these
    /// requests.
    pub fn executions_read(&self, requests: Option<&[RequestId]>) -> u64 {
        let chunks = self.chunks(requests);
        chunks.iter().map(|chunk| u64::from(chunk.executions)).sum()
    }
}

/// The executions of a trace, in replay order. Not an iterator, because an execution borrows a
/// buffer that the next one reuses.
pub struct Executions<'t> {
    trace: &'t Trace,
    wanted: Wanted,
    locator: Option<Locator<'t>>,
    decoder: Option<Decoder>,
    /// The chunk that was decoded last.
    chunk: Chunk,
    cursors: Vec<Cursor>,
    /// Threads with a run to play, by its stamp and then by number.
    waiting: BinaryHeap<Reverse<(u64, ThreadId)>>,
    current: ThreadId,
    /// Stamp of the current run.
    stamp: u64,
    left_in_run: u32,
    played: PlayedBuffer,
    next_played: usize,
    /// Executions of the current thread before the next one.
    next_number: u64,
    next_access: usize,
    tell: Option<Tell<'t>>,
}

/// A callback that receives the number of executions read.
pub type Tell<'t> = &'t (dyn Fn(u64) + Sync);

impl<'t> Executions<'t> {
    fn new(trace: &'t Trace, wanted: Wanted) -> Executions<'t> {
        let mut executions = Executions {
            trace,
            wanted,
            locator: trace.locator(),
            decoder: None,
            chunk: Chunk::default(),
            cursors: Vec::new(),
            waiting: BinaryHeap::new(),
            current: ThreadId(0),
            stamp: 0,
            left_in_run: 0,
            played: PlayedBuffer::new(&trace.contents.templates),
            next_played: 0,
            next_number: 0,
            next_access: 0,
            tell: None,
        };
        for thread in (0..trace.threads().len()).map(ThreadId::from_index) {
            executions.cursors.push(Cursor::default());
            executions.queue_chunk(thread);
        }
        executions
    }

    /// Keeps the addresses that processes used: equal addresses may be different memory.
    #[must_use]
    pub fn with_virtual_addresses(mut self) -> Executions<'t> {
        self.locator = None;
        self
    }

    /// Calls `tell` for each chunk that is read, with its number of executions. The total equals
    /// [`Trace::executions_read`].
    #[must_use]
    pub fn telling(mut self, tell: Tell<'t>) -> Executions<'t> {
        self.tell = Some(tell);
        self
    }

    /// Returns the next execution; `None` after the last.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a chunk contradicts itself. Nothing more can then be read.
    #[allow(clippy::should_implement_trait)] // An iterator's items cannot borrow from it.
    #[inline(always)] // An execution is large to return.
    pub fn next(&mut self) -> Result<Option<Execution<'_>>, Error> {
        while self.next_played == self.played.executions.len() {
            if !self.play_more()? {
                return Ok(None);
            }
        }
        let played = &self.played.executions[self.next_played];
        let accesses = self.next_access..played.end as usize;
        let number = self.next_number;
        self.next_played += 1;
        self.next_number += 1;
        self.next_access = accesses.end;
        let entry = played.entry.checked_sub(1).map(FunctionId);
        let numbered = &self.trace.numbered;
        let entry = entry.map(|entry| numbered.entered(self.current, number, entry));
        Ok(Some(Execution {
            thread: self.current,
            stamp: self.stamp,
            request: self.cursors[self.current.index()].request,
            number,
            code_block: played.code_block,
            template: played.template,
            entry,
            accesses: &self.played.accesses[accesses],
        }))
    }

    /// Plays more of the current run, or of the next one; returns false at the end.
    fn play_more(&mut self) -> Result<bool, Error> {
        while self.left_in_run == 0 {
            if !self.next_run()? {
                return Ok(false);
            }
        }
        let cursor = &mut self.cursors[self.current.index()];
        if cursor.passes_mark() {
            let requests = &self.trace.requests;
            cursor.request = requests.after(self.current, cursor.marks_passed);
        }
        self.next_number = cursor.executions();
        self.left_in_run -= cursor.play(
            self.left_in_run,
            &self.trace.contents.templates,
            &mut self.played,
        );
        self.next_played = 0;
        self.next_access = 0;
        if !self.wanted.has(cursor.request) {
            self.played.executions.clear();
        }
        if let Some(locator) = &mut self.locator {
            let played = self.played.executions.last().map_or(0, |last| last.end);
            for access in &mut self.played.accesses[..played as usize] {
                access.address = locator.locate(access.address);
            }
        }
        Ok(true)
    }

    /// Selects the run with the smallest stamp; returns false if there is none.
    fn next_run(&mut self) -> Result<bool, Error> {
        // The thread of the previous run waits with its next run, like all others.
        if let Some(cursor) = self.cursors.get_mut(self.current.index())
            && cursor.run < cursor.order.runs.len()
        {
            cursor.run += 1;
            match cursor.order.runs.get(cursor.run) {
                Some(run) => self.waiting.push(Reverse((run.stamp, self.current))),
                None => {
                    cursor.order = ChunkOrder::default();
                    self.queue_chunk(self.current);
                }
            }
        }
        let Some(Reverse((_, thread))) = self.waiting.pop() else {
            // No thread is current any more, even if the caller continues.
            self.current = ThreadId::from_index(self.cursors.len());
            return Ok(false);
        };
        self.current = thread;
        if self.cursors[self.current.index()].order.runs.is_empty() {
            self.load(self.current)?;
        }
        let cursor = &self.cursors[self.current.index()];
        let run = cursor.order.runs[cursor.run];
        (self.stamp, self.left_in_run) = (run.stamp, run.executions);
        if let Some(locator) = &mut self.locator {
            locator.begin_run(thread, run.stamp);
        }
        Ok(true)
    }

    /// Queues a thread with the first run of its next selected chunk.
    fn queue_chunk(&mut self, thread: ThreadId) {
        let chunks = &self.trace.contents.streams[thread.index()].chunks;
        let cursor = &mut self.cursors[thread.index()];
        while let Some(place) = chunks.get(cursor.next_chunk) {
            let requests = &self.trace.requests;
            if self.wanted.has_some_in(requests, thread, place) {
                let stamp = place.first_stamp;
                self.waiting.push(Reverse((stamp, thread)));
                return;
            }
            cursor.next_chunk += 1;
        }
    }

    /// Decodes a thread's next chunk.
    fn load(&mut self, thread: ThreadId) -> Result<(), Error> {
        let trace = self.trace;
        let cursor = &mut self.cursors[thread.index()];
        let place = trace.contents.streams[thread.index()].chunks[cursor.next_chunk];
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(trace.decoder()?),
        };
        if let Err(damage) = trace.decode(place, (decoder, &mut self.chunk), &[]) {
            self.waiting.clear();
            return Err(damage);
        }
        cursor.begin_chunk(&trace.contents.templates, &mut self.chunk);
        cursor.executions_before = place.executions_before;
        if let Some(tell) = self.tell {
            tell(u64::from(place.executions));
        }
        cursor.marks_passed = place.marks_before;
        cursor.request = trace.requests.after(thread, place.marks_before);
        Ok(())
    }
}
