//! A flag in the shared memory.
//!
//! A `bool` has two bit patterns, and a wild store of the server may leave any other: here all but
//! zero are a yes. It keeps to a word of its own, as every value there does.

use std::sync::atomic::{AtomicU32, Ordering};
use zerocopy::FromBytes;

/// A yes or no that both sides may change at any time.
#[repr(transparent)]
#[derive(Debug, Default, FromBytes)]
pub(crate) struct Flag(AtomicU32);

impl Flag {
    pub(crate) fn set(&self, yes: bool, ordering: Ordering) {
        self.0.store(u32::from(yes), ordering);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}
