//! The protocol of one chunk: who may access its header and its words, and when.
//!
//! A chunk is free, then claimed by one writer and owned by it during writing. It is full when the
//! writer is done, and free again once the reader has read it completely. Only a writer moves it
//! out of the free state, and only the reader moves it back. Each step publishes the stores before
//! it. In an owned chunk, the header is that owner's. A length covers that many valid words, and in
//! a full chunk it is final.
//!
//! The atomics are a type parameter, so that the tests can run this code itself under loom. Loom
//! tries the possible orders of threads and their stores.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use zerocopy::FromBytes;

/// An atomic number.
pub(crate) trait Atomic<T> {
    fn load(&self, ordering: Ordering) -> T;
    fn store(&self, value: T, ordering: Ordering);
    /// Stores `new` if the value is `old`; returns whether it did. A failure has no ordering.
    fn exchange(&self, old: T, new: T, success: Ordering) -> bool;
}

/// Implements [`Atomic`] for a type: here for std's, in the tests for loom's.
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

/// States of a chunk, in order.
mod state {
    /// Any writer may claim it.
    pub(super) const FREE: u32 = 0;
    /// Claimed; its header is being written.
    pub(super) const CLAIMED: u32 = 1;
    /// A thread writes words, and updates the length with each.
    pub(super) const OWNED: u32 = 2;
    /// Its thread has finished writing.
    pub(super) const FULL: u32 = 3;
}

/// The writer of a chunk, and its progress.
#[repr(C, align(64))]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct ChunkHeader<A = AtomicU32> {
    state: A,
    /// Number of words written.
    length: A,
    stream: A,
    sequence: A,
    process: A,
    thread: A,
}

/// The writer of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) stream: u32,
    /// Number of the stream's chunks before this one.
    pub(crate) sequence: u32,
    pub(crate) process: u32,
    /// The operating system's number of the thread.
    pub(crate) thread: u32,
}

/// The contents of a chunk for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) writer: Writer,
    pub(crate) length: u32,
    /// Whether the writer has finished, so that the length is final.
    pub(crate) is_full: bool,
}

impl<A: Atomic<u32>> ChunkHeader<A> {
    /// Claims the chunk for a writer if it is free; returns whether it was. [`ChunkHeader::begin`]
    /// must follow.
    pub(crate) fn claim(&self) -> bool {
        self.state.load(Ordering::Relaxed) == state::FREE
            && (self.state).exchange(state::FREE, state::CLAIMED, Ordering::Acquire)
    }

    /// Begins writing to a claimed chunk.
    pub(crate) fn begin(&self, writer: Writer) {
        self.length.store(0, Ordering::Relaxed);
        self.stream.store(writer.stream, Ordering::Relaxed);
        self.sequence.store(writer.sequence, Ordering::Relaxed);
        self.process.store(writer.process, Ordering::Relaxed);
        self.thread.store(writer.thread, Ordering::Relaxed);
        self.state.store(state::OWNED, Ordering::Release);
    }

    /// Returns the number of words written, for the writer.
    #[inline(always)]
    pub(crate) fn written(&self) -> u32 {
        self.length.load(Ordering::Relaxed)
    }

    /// Appends a word, for the writer; it can be read from now on. Returns whether there was space
    /// in `words`, a prefix of the chunk's words.
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

    /// Finishes writing to the chunk.
    pub(crate) fn finish(&self) {
        self.state.store(state::FULL, Ordering::Release);
    }

    /// Returns what can be read. The state is read first: the length of a full chunk is final,
    /// while that of an owned one may grow.
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

    /// Frees a full chunk after the reader has read it: any writer may claim it.
    pub(crate) fn free(&self) {
        self.state.store(state::FREE, Ordering::Release);
    }
}
