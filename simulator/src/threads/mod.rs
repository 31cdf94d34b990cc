//! Where threads run: what a split says, and which core each thread is on.

pub(crate) mod kth_calls;
pub(crate) mod placed_thread;
pub(crate) mod split;
pub(crate) mod thread_placement;
