//! The header of the shared memory.

use crate::ring::flag::Flag;
use std::sync::atomic::{AtomicU32, AtomicU64};
use zerocopy::FromBytes;

/// Maximum length of the path of the marker's file in bytes.
pub(crate) const MOST_PATH_BYTES: usize = 4096;

/// System calls with larger numbers are not counted; x86-64 has fewer than 470.
pub(crate) const MOST_CALLS: usize = 512;

/// Puts a value that many threads write into its own cache line.
#[repr(C, align(64))]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct Apart<T>(pub(crate) T);

/// State shared by both sides.
#[repr(C)]
#[derive(Debug, FromBytes)]
pub(crate) struct Header {
    pub(crate) magic: AtomicU64,
    pub(crate) version: AtomicU64,
    pub(crate) chunk_words: AtomicU32,
    pub(crate) chunks: AtomicU32,
    pub(crate) control_words: AtomicU32,
    pub(crate) recorder: AtomicU32,
    pub(crate) request_limit: AtomicU64,
    pub(crate) listed: AtomicU32,
    pub(crate) stop: Flag,
    pub(crate) loaded: Flag,
    pub(crate) counts: Counts,
    pub(crate) next_stamp: Apart<AtomicU64>,
    pub(crate) next_stream: Apart<AtomicU32>,
    pub(crate) next_block: Apart<AtomicU32>,
    pub(crate) free_chunks: Apart<AtomicU32>,
    pub(crate) waited_us: Apart<AtomicU64>,
    pub(crate) control: Apart<ControlHeader>,
    pub(crate) next_connection: Apart<AtomicU64>,
    /// Number of times each system call was made, by its number.
    pub(crate) calls: [AtomicU32; MOST_CALLS],
    pub(crate) marker: Place,
}

#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct ControlHeader {
    /// Process that holds the lock; 0 if none does.
    pub(crate) owner: AtomicU32,
    /// Total number of words written and read.
    pub(crate) written: AtomicU64,
    pub(crate) read: AtomicU64,
}

/// The counters, over all processes of the server.
#[repr(C, align(64))]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct Counts {
    /// Marks seen while the selection was not paused.
    pub(crate) eligible: AtomicU64,
    /// Marks seen while it was.
    pub(crate) skipped: AtomicU64,
    pub(crate) taken: AtomicU64,
    /// Number of pending requests; in the upper half, number of declined requests without a
    /// replacement. One word, so that both are read at one moment.
    pub(crate) open: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) paused: Flag,
}

/// The marker, for both sides.
#[repr(C)]
#[derive(Debug, FromBytes)]
pub(crate) struct Place {
    /// The kind of marker; 0 before it is set.
    pub(crate) kind: AtomicU64,
    /// Offset in the file, or the no-op's number.
    pub(crate) value: AtomicU64,
    pub(crate) path_bytes: AtomicU64,
    pub(crate) path: [AtomicU64; MOST_PATH_BYTES / 8],
}
