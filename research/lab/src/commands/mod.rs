//! One file for each subcommand; they do not use each other.

pub mod characterize;
pub mod cohorts;
pub mod fleet;
pub mod kernel_model;
pub mod kth_calls;
pub mod pollute;
pub mod schema;
