//! The sequential engine: one loop over the executions of a trace, on one host thread.
//!
//! [`Replayer`] is the reference that the parallel engine is held equal to, and the one engine that
//! can be observed.

mod replayer;
mod translator;

pub use replayer::Replayer;
