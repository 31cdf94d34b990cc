//! The most that one block of a trace holds, so that whoever reads it knows how much room it takes.

/// The most executions in one block.
pub const MAX_EXECUTIONS: usize = 1 << 20;
/// The most data accesses in one block, which bounds the memory that reading one takes.
pub const MAX_ACCESSES: usize = 1 << 23;
/// The most accesses in one block with matches, fetches included: a reader keeps them all.
pub const MAX_REFERENCES: usize = 1 << 24;
/// The most distinct templates in one block.
pub const MAX_TEMPLATES: usize = 1 << 16;
