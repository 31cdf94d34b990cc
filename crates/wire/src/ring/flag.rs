//! A flag in the shared memory.
//!
//! A `bool` has two valid bit patterns, but a wild store of the server may write any other. Here
//! all values except zero mean true. Like every value there, it has its own word.

use std::sync::atomic::{AtomicU32, Ordering};
use zerocopy::FromBytes;

/// A boolean that both sides may change at any time.
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
