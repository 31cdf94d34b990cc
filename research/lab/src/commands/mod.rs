//! One file a subcommand, none of which uses another.

pub mod characterize;
pub mod cohorts;
pub mod fleet;
pub mod kernel_model;
pub mod kth_calls;
pub mod pollute;
pub mod schema;
