//! The sequential engine: one loop over the executions of a trace, on one host thread.
//!
//! [`Replayer`] is the reference for tests of the parallel engine, and the only engine that
//! supports observers.

mod prefetching;
mod repetitions;
mod replayer;

pub use replayer::Replayer;
