//! This machine: its hardware counters, and what hops and batched system calls need of it.

pub mod counters;
pub mod cpus;
pub mod rings;
