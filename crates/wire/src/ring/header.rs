//! What the shared memory holds beside chunks: its header.

use crate::ring::flag::Flag;
use std::sync::atomic::{AtomicU32, AtomicU64};
use zerocopy::FromBytes;

/// Longest path of a file that a marker is in.
pub(crate) const MOST_PATH_BYTES: usize = 4096;

/// Numbers of system calls beyond are not counted; x86-64 has fewer than 470.
pub(crate) const MOST_CALLS: usize = 512;

/// Keeps a value that many threads write off its neighbours' cache line.
#[repr(C, align(64))]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct Apart<T>(pub(crate) T);

/// What both sides know about each other.
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
    /// How often each system call was made, by its number.
    pub(crate) calls: [AtomicU32; MOST_CALLS],
    pub(crate) marker: Place,
}

#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct ControlHeader {
    /// Process that holds the lock; 0 when nobody does.
    pub(crate) owner: AtomicU32,
    /// Words ever written and words ever read.
    pub(crate) written: AtomicU64,
    pub(crate) read: AtomicU64,
}

/// The counters, all of the server's processes together.
#[repr(C, align(64))]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct Counts {
    pub(crate) marks: AtomicU64,
    pub(crate) taken: AtomicU64,
    /// Requests that pend, and in the upper half those declined that another has yet to take the
    /// place of: one word, so that both are seen at one moment.
    pub(crate) open: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) paused: Flag,
}

/// The marker as both sides see it.
#[repr(C)]
#[derive(Debug, FromBytes)]
pub(crate) struct Place {
    /// Which of the kinds; 0 before it is told.
    pub(crate) kind: AtomicU64,
    /// Offset in the file, or the no-op's number.
    pub(crate) value: AtomicU64,
    pub(crate) path_bytes: AtomicU64,
    pub(crate) path: [AtomicU64; MOST_PATH_BYTES / 8],
}
