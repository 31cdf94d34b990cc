//! Writes a trace: while it is recorded, or as a copy of another.
//!
//! A [`writer`] checks its input and keeps a stream of executions for each thread. Full chunks go
//! to a sink, a thread that compresses them and writes the file. A [`copy`] reads one trace and
//! passes it to the writer of another.

pub(crate) mod copy;
mod sink;
mod stream;
pub(crate) mod writer;
