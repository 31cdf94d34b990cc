//! The writing side of the data stream: one thread, one chunk at a time.
//!
//! A chunk is claimed with one compare-and-swap, so threads never wait for each other, only for the
//! recorder. A stamp is written after at most 512 words. The comparison that detects a full chunk
//! also detects that a stamp is due.

use crate::ring::chunk::{ChunkHeader, Writer};
use crate::ring::memory::Memory;
use crate::ring::word::Event;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Maximum number of words between two stamps of a stream.
pub const STAMP_EVERY: u32 = 512;

/// More than the number of chunks that a stream fills before a recorder that keeps up returns.
const FEW_CHUNKS: u32 = 61;

/// Why a stream accepts no more words: recording was stopped, or the recorder's process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recording has ended")]
pub struct Off;

/// The writing state of one thread. An idle stream accepts no words.
#[derive(Debug)]
pub struct Stream<'m> {
    room: Option<Room<'m>>,
    /// Whether it has begun and not ended.
    is_writing: bool,
    /// The number of the chunk, while there is room.
    chunk: u32,
    stream: u32,
    sequence: u32,
    process: u32,
    thread: u32,
}

/// Where words are written until [`Stream::make_room`] is needed. The position is only in the
/// chunk's header, so that each word can be read as soon as it is written.
#[derive(Debug)]
struct Room<'m> {
    header: &'m ChunkHeader,
    /// The chunk's words up to where a stamp is due, or to its end.
    words: &'m [AtomicU64],
}

impl<'m> Stream<'m> {
    /// Creates a stream that is not writing. All its bytes are zero, so an unused array of them
    /// costs nothing.
    pub const fn idle() -> Self {
        Stream {
            room: None,
            is_writing: false,
            chunk: 0,
            stream: 0,
            sequence: 0,
            process: 0,
            thread: 0,
        }
    }

    /// Returns true between [`Stream::begin`] and [`Stream::end`].
    pub fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// Starts a new stream for the calling thread, which has these ids. Waits for a chunk.
    pub fn begin(&mut self, memory: &'m Memory, process: u32, thread: u32) -> Result<(), Off> {
        *self = Stream {
            is_writing: true,
            stream: memory
                .header()
                .next_stream
                .0
                .fetch_add(1, Ordering::Relaxed),
            process,
            thread,
            ..Stream::idle()
        };
        self.claim(memory)
    }

    /// Appends a word. Returns false if [`Stream::make_room`] must be called first.
    #[inline(always)]
    pub fn push(&mut self, word: u64) -> bool {
        let Some(Room { header, words }) = &self.room else {
            return false;
        };
        header.push(words, word)
    }

    /// Makes the next push succeed: writes the stamp that is due, or claims the next chunk.
    pub fn make_room(&mut self, memory: &'m Memory) -> Result<(), Off> {
        if !self.is_writing || memory.is_stopped() {
            self.end();
            return Err(Off);
        }
        if self.stamp(memory) {
            return Ok(());
        }
        self.rest();
        self.claim(memory)
    }

    /// Writes a stamp if there is space for it and at least one more word; returns whether there
    /// was.
    pub fn stamp(&mut self, memory: &'m Memory) -> bool {
        self.stamp_there(memory).is_some()
    }

    /// Writes a stamp, and returns it: changes with this stamp hold for what follows.
    pub fn stamp_change(&mut self, memory: &'m Memory) -> Result<u64, Off> {
        if let Some(stamp) = self.stamp_there(memory) {
            return Ok(stamp);
        }
        self.make_room(memory)?;
        self.stamp_there(memory).ok_or(Off)
    }

    fn stamp_there(&mut self, memory: &'m Memory) -> Option<u64> {
        let room = self.room.as_mut()?;
        let all = memory.chunk_data(self.chunk);
        let first = room.header.written() as usize;
        if first + 1 >= all.len() {
            return None;
        }
        room.words = &all[..all.len().min(first + STAMP_EVERY as usize)];
        let stamp = memory.next_stamp();
        self.push(Event::Stamp(stamp).encode()).then_some(stamp)
    }

    /// Writes a stamp that holds for the rest of the current execution and for what follows;
    /// returns it.
    pub fn stamp_execution(&mut self, memory: &'m Memory) -> Result<u64, Off> {
        let is_full = |room: &Room<'_>| room.header.written() as usize >= room.words.len();
        if self.room.as_ref().is_none_or(is_full) {
            self.make_room(memory)?;
        }
        let stamp = memory.next_stamp();
        match self.push(Event::ExecutionStamp(stamp).encode()) {
            true => Ok(stamp),
            false => Err(Off),
        }
    }

    /// Returns the chunk of a thread that may now sleep if chunks are scarce, so that sleepers do
    /// not starve the others. After waking up the thread must call [`Stream::stamp`], because its
    /// later executions follow what it waited for.
    pub fn pause(&mut self, memory: &'m Memory) -> Result<(), Off> {
        if !self.is_writing {
            return Ok(());
        }
        if memory.is_stopped() {
            self.end();
            return Err(Off);
        }
        if memory.header().free_chunks.0.load(Ordering::Relaxed) < memory.settings().chunks / 2 {
            self.rest();
        }
        Ok(())
    }

    /// Returns the chunk of a thread that may write nothing for long. The stream claims another one
    /// when it makes room.
    pub fn rest(&mut self) {
        if let Some(room) = self.room.take() {
            room.header.finish();
        }
    }

    /// Ends the stream.
    pub fn end(&mut self) {
        self.rest();
        *self = Stream::idle();
    }

    /// Drops the chunk without accessing it, after a fork: it belongs to the parent process.
    pub fn forget(&mut self) {
        *self = Stream::idle();
    }

    fn claim(&mut self, memory: &'m Memory) -> Result<(), Off> {
        let mut pause = Duration::from_micros(20);
        let chunk = loop {
            if memory.is_stopped() {
                self.forget();
                return Err(Off);
            }
            if let Some(chunk) = self.claim_free(memory) {
                break chunk;
            }
            if memory.recorder_is_gone() {
                memory.stop();
            }
            std::thread::sleep(pause);
            let waited = &memory.header().waited_us.0;
            waited.fetch_add(pause.as_micros() as u64, Ordering::Relaxed);
            pause = (pause * 2).min(Duration::from_millis(1));
        };
        let header = &memory.chunk_headers()[chunk as usize];
        header.begin(Writer {
            stream: self.stream,
            sequence: self.sequence,
            process: self.process,
            thread: self.thread,
        });
        self.sequence += 1;
        self.chunk = chunk;
        self.room = Some(Room { header, words: &[] });
        self.stamp(memory);
        Ok(())
    }

    /// Searches from a place that few other streams use. The place is fixed, so a stream reuses
    /// recently read chunks if the recorder keeps up. These are still in the caches, which are too
    /// small for all chunks.
    fn claim_free(&self, memory: &Memory) -> Option<u32> {
        let chunks = memory.settings().chunks;
        let first = self.stream.wrapping_mul(FEW_CHUNKS) % chunks;
        let headers = memory.chunk_headers();
        let mut places = (first..chunks).chain(0..first);
        let claimed = places.find(|&chunk| headers[chunk as usize].claim())?;
        let free = &memory.header().free_chunks.0;
        free.fetch_sub(1, Ordering::Relaxed);
        Some(claimed)
    }
}
