//! What policies remember: one word for each way of every cache.

use crate::ids::LineId;

/// No line in this way.
pub(crate) const EMPTY: LineId = LineId(u32::MAX);

/// A set: where its ways are among those of all caches.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    pub first: usize,
    pub ways: usize,
}

/// What policies remember of all ways of all caches.
#[derive(Clone, Default)]
pub(crate) struct PolicyState {
    /// By way.
    pub(super) words: Vec<u64>,
    /// When the last reference was, see [`super::ages`].
    pub(super) now: u64,
}
