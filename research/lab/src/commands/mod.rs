//! One file a subcommand, none of which uses another.

pub mod characterize;
pub mod fleet;
pub mod pollute;
pub mod schema;
