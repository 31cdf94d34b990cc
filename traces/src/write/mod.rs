//! How a trace is written: as it is recorded, or as a copy of another.
//!
//! A [`writer`] checks what it is told and keeps a stream of executions for each thread. What is
//! full goes to a sink, a thread that compresses it and writes the file. A [`copy`] reads one trace
//! and tells another's writer.

pub(crate) mod copy;
mod sink;
mod stream;
pub(crate) mod writer;
