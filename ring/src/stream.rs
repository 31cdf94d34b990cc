//! The writing side of the data stream: one thread, one chunk at a time.
//!
//! A chunk is claimed with one compare-and-swap, so no thread ever waits for another, only for the
//! recorder. A stamp is written whenever 512 words have passed since the last one, which the same
//! comparison finds that finds a full chunk.

use crate::memory::{ChunkHeader, Memory, state};
use crate::word::Event;
use std::slice::Iter;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most words between two stamps of a stream.
pub const STAMP_EVERY: u32 = 512;

/// What a stream fills while a recorder that keeps up is away, and more.
const FEW_CHUNKS: u32 = 61;

/// Why a stream takes no more words: recording was stopped, or the recorder's process is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recording has ended")]
pub struct Off;

/// Where one thread writes. It belongs to one thread; an idle one takes no words.
#[derive(Debug)]
pub struct Stream<'m> {
    words: Option<&'m [AtomicU64]>,
    chunk: Option<&'m ChunkHeader>,
    /// Where words go until it takes [`Stream::make_room`]: a stamp is due or the chunk is full.
    room: Option<Iter<'m, AtomicU64>>,
    /// Where in the chunk that room ends.
    limit: u32,
    stream: u32,
    sequence: u32,
    process: u32,
    thread: u32,
}

impl<'m> Stream<'m> {
    /// A stream that is not writing. All its bytes are zero, so that an array of them costs
    /// nothing until it is used.
    pub const fn idle() -> Self {
        Stream {
            words: None,
            chunk: None,
            room: None,
            limit: 0,
            stream: 0,
            sequence: 0,
            process: 0,
            thread: 0,
        }
    }

    /// True between [`Stream::begin`] and [`Stream::end`].
    pub fn is_writing(&self) -> bool {
        self.words.is_some()
    }

    /// Starts a new stream for the calling thread, which has these ids. Waits for a chunk.
    pub fn begin(&mut self, memory: &'m Memory, process: u32, thread: u32) -> Result<(), Off> {
        *self = Stream {
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

    /// Appends a word. False when there is no room for it before [`Stream::make_room`].
    #[inline(always)]
    pub fn push(&mut self, word: u64) -> bool {
        let place = self.room.as_mut().and_then(Iter::next);
        if let Some(place) = place {
            place.store(word, Ordering::Relaxed);
        }
        place.is_some()
    }

    /// How many words there are in the chunk.
    #[inline(always)]
    fn position(&self) -> u32 {
        self.limit - self.room.as_ref().map_or(0, |room| room.len() as u32)
    }

    /// Makes room for words from `position` on, but none at `limit`.
    fn open(&mut self, position: u32, limit: u32) {
        let range = position as usize..limit as usize;
        let room = self.words.and_then(|words| words.get(range));
        (self.room, self.limit) = (room.map(<[_]>::iter), limit);
    }

    /// Lets the recorder see everything pushed so far.
    #[inline(always)]
    pub fn publish(&mut self) {
        if let Some(chunk) = self.chunk {
            chunk.length.store(self.position(), Ordering::Release);
        }
    }

    /// Makes the next push succeed: writes the stamp that is due, or takes the next chunk.
    pub fn make_room(&mut self, memory: &'m Memory) -> Result<(), Off> {
        if !self.is_writing() || memory.is_stopped() {
            self.end();
            return Err(Off);
        }
        if self.position() + 1 < memory.settings().chunk_words {
            self.stamp(memory);
            return Ok(());
        }
        self.release();
        self.claim(memory)
    }

    /// Writes a stamp, where there is room for it and at least one word more.
    pub fn stamp(&mut self, memory: &'m Memory) {
        let (position, capacity) = (self.position(), memory.settings().chunk_words);
        if !self.is_writing() || position + 1 >= capacity {
            return;
        }
        let stamp = memory.header().next_stamp.0.fetch_add(1, Ordering::AcqRel);
        self.open(position, (position + STAMP_EVERY).min(capacity));
        self.push(Event::Stamp(stamp).encode());
        self.publish();
    }

    /// For a thread that may now sleep: publishes, and gives its chunk back when chunks run short,
    /// so that sleepers never hold so many that the others starve. When it wakes up it is to
    /// [`Stream::stamp`], because what it does then comes after what it waited for.
    pub fn pause(&mut self, memory: &'m Memory) -> Result<(), Off> {
        if !self.is_writing() {
            return Ok(());
        }
        if memory.is_stopped() {
            self.end();
            return Err(Off);
        }
        self.publish();
        if memory.header().free_chunks.0.load(Ordering::Relaxed) < memory.settings().chunks / 2 {
            self.release();
        }
        Ok(())
    }

    /// For a thread that may write nothing for long: gives its chunk back. It takes another when it
    /// makes room again.
    pub fn rest(&mut self) {
        self.release();
    }

    /// Publishes what there is and writes no more.
    pub fn end(&mut self) {
        self.release();
        *self = Stream::idle();
    }

    /// Forgets the chunk without touching it: it belongs to the process this one was forked from.
    pub fn forget(&mut self) {
        *self = Stream::idle();
    }

    fn release(&mut self) {
        self.publish();
        if let Some(chunk) = self.chunk.take() {
            chunk.state.store(state::FULL, Ordering::Release);
        }
        self.open(u32::MAX - 1, u32::MAX - 1);
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
        let header = memory.chunk(chunk);
        let relaxed = Ordering::Relaxed;
        header.length.store(0, relaxed);
        header.stream.store(self.stream, relaxed);
        header.sequence.store(self.sequence, relaxed);
        header.process.store(self.process, relaxed);
        header.thread.store(self.thread, relaxed);
        header.state.store(state::OWNED, Ordering::Release);
        self.sequence += 1;
        self.words = Some(memory.chunk_data(chunk));
        self.chunk = Some(header);
        self.open(0, 0);
        self.stamp(memory);
        Ok(())
    }

    /// Starts looking where few others look. It is always the same place, so that a stream goes on
    /// in chunks that were read just now, as long as the recorder keeps up: they are still in the
    /// caches, where all chunks together are not.
    fn claim_free(&self, memory: &Memory) -> Option<u32> {
        let chunks = memory.settings().chunks;
        let first = self.stream.wrapping_mul(FEW_CHUNKS) % chunks;
        let claimed = (first..chunks).chain(0..first).find(|&chunk| {
            let state = &memory.chunk(chunk).state;
            state.load(Ordering::Relaxed) == state::FREE
                && state
                    .compare_exchange(
                        state::FREE,
                        state::CLAIMED,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    )
                    .is_ok()
        })?;
        let free = &memory.header().free_chunks.0;
        free.fetch_sub(1, Ordering::Relaxed);
        Some(claimed)
    }
}
