//! This machine: its hardware counters, what hops and batched system calls need of it, and who else
//! uses its cores.

pub mod counters;
pub mod cpus;
pub mod neighbors;
pub mod rings;
