//! One chunk's protocol: who may touch its header and its words, and when.
//!
//! A chunk is free, claimed by one writer, owned by it while it writes, full when the writer is
//! done, and free again once the reader has read all of it. Only a writer leads it out of free, and
//! only the reader back. Each step publishes what was stored before it: who finds a chunk owned
//! finds the header of that owner, who finds a length finds so many words, and who finds it full
//! finds its last length.
//!
//! The atomics are a type parameter, so that the tests can run this code, and no copy of it, under
//! loom, which tries the orders that threads and their stores can come in.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use zerocopy::FromBytes;

/// An atomic number.
pub(crate) trait Atomic<T> {
    fn load(&self, ordering: Ordering) -> T;
    fn store(&self, value: T, ordering: Ordering);
    /// Stores `new` where `old` stands; whether it did. A failure orders nothing.
    fn exchange(&self, old: T, new: T, success: Ordering) -> bool;
}

/// Says that a type is an atomic: here std's, in the tests loom's.
macro_rules! is_atomic {
    ($atomic:ty, $number:ty) => {
        impl $crate::ring::chunk::Atomic<$number> for $atomic {
            #[inline(always)]
            fn load(&self, ordering: Ordering) -> $number {
                <$atomic>::load(self, ordering)
            }

            #[inline(always)]
            fn store(&self, value: $number, ordering: Ordering) {
                <$atomic>::store(self, value, ordering);
            }

            #[inline(always)]
            fn exchange(&self, old: $number, new: $number, success: Ordering) -> bool {
                <$atomic>::compare_exchange(self, old, new, success, Ordering::Relaxed).is_ok()
            }
        }
    };
}

is_atomic!(AtomicU32, u32);
is_atomic!(AtomicU64, u64);

#[cfg(test)]
pub(crate) use is_atomic;

/// States of a chunk, in the order it passes through them.
mod state {
    /// Anybody may claim it.
    pub(super) const FREE: u32 = 0;
    /// Claimed; its header is being written.
    pub(super) const CLAIMED: u32 = 1;
    /// A thread writes words, and its length with each.
    pub(super) const OWNED: u32 = 2;
    /// Its thread is done with it.
    pub(super) const FULL: u32 = 3;
}

/// Who writes a chunk, and how far it has come.
#[repr(C, align(64))]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct ChunkHeader<A = AtomicU32> {
    state: A,
    /// Words written.
    length: A,
    stream: A,
    sequence: A,
    process: A,
    thread: A,
}

/// Who writes a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) stream: u32,
    /// How many chunks the stream had before this one.
    pub(crate) sequence: u32,
    pub(crate) process: u32,
    /// As the operating system numbers it.
    pub(crate) thread: u32,
}

/// What the reader finds in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) writer: Writer,
    pub(crate) length: u32,
    /// Whether the writer is done, so that the length is final.
    pub(crate) is_full: bool,
}

impl<A: Atomic<u32>> ChunkHeader<A> {
    /// A writer takes the chunk if it is free. Whether it was; then [`ChunkHeader::begin`] follows.
    pub(crate) fn claim(&self) -> bool {
        self.state.load(Ordering::Relaxed) == state::FREE
            && (self.state).exchange(state::FREE, state::CLAIMED, Ordering::Acquire)
    }

    /// Whoever claimed the chunk begins to write.
    pub(crate) fn begin(&self, writer: Writer) {
        self.length.store(0, Ordering::Relaxed);
        self.stream.store(writer.stream, Ordering::Relaxed);
        self.sequence.store(writer.sequence, Ordering::Relaxed);
        self.process.store(writer.process, Ordering::Relaxed);
        self.thread.store(writer.thread, Ordering::Relaxed);
        self.state.store(state::OWNED, Ordering::Release);
    }

    /// How many words its writer has written, as the writer asks it.
    #[inline(always)]
    pub(crate) fn written(&self) -> u32 {
        self.length.load(Ordering::Relaxed)
    }

    /// Its writer appends a word, which can be read from now on. Whether there was room in `words`,
    /// the first so many of the chunk's.
    #[inline(always)]
    pub(crate) fn push<W: Atomic<u64>>(&self, words: &[W], word: u64) -> bool {
        let position = self.length.load(Ordering::Relaxed);
        let Some(place) = words.get(position as usize) else {
            return false;
        };
        place.store(word, Ordering::Relaxed);
        self.length.store(position + 1, Ordering::Release);
        true
    }

    /// Its writer is done with it.
    pub(crate) fn finish(&self) {
        self.state.store(state::FULL, Ordering::Release);
    }

    /// What the reader can read. The state is read first: what a full chunk's length says is final,
    /// and an owned one may grow and be read further later.
    pub(crate) fn published(&self) -> Option<Published> {
        let state = self.state.load(Ordering::Acquire);
        if !matches!(state, state::OWNED | state::FULL) {
            return None;
        }
        Some(Published {
            writer: Writer {
                stream: self.stream.load(Ordering::Relaxed),
                sequence: self.sequence.load(Ordering::Relaxed),
                process: self.process.load(Ordering::Relaxed),
                thread: self.thread.load(Ordering::Relaxed),
            },
            length: self.length.load(Ordering::Acquire),
            is_full: state == state::FULL,
        })
    }

    /// The reader has read all of a full chunk: anybody may claim it.
    pub(crate) fn free(&self) {
        self.state.store(state::FREE, Ordering::Release);
    }
}
