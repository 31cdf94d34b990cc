//! Placement of threads: the split, and the current core of each thread.

pub(crate) mod kth_calls;
pub(crate) mod placed_thread;
pub(crate) mod split;
pub(crate) mod thread_placement;
