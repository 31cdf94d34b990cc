//! This machine: the counters of its processor, and what it lets a server hop between.

pub mod counters;
pub mod cpus;
pub mod rings;
