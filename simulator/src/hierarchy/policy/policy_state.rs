//! State of the policies: one word for each way of every cache.

use crate::ids::LineId;

/// Marks a way without a line.
pub(crate) const EMPTY: LineId = LineId(u32::MAX);

/// The position of a set's ways among those of all caches.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    pub first: usize,
    pub ways: usize,
}

/// State of the policies for all ways of all caches.
#[derive(Clone, Default)]
pub(crate) struct PolicyState {
    /// One word for each way.
    pub(super) words: Vec<u64>,
    /// Time of the last reference, see [`super::ages`].
    pub(super) now: u64,
}
