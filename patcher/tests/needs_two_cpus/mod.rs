//! Tests that need two CPUs. The runner counts them as skipped on a machine with one.

mod auto;
mod auto_by_argument;
pub mod load;
