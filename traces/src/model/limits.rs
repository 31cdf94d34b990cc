//! The limits of one chunk of a trace, which bound the memory that reading it takes.

/// Maximum number of executions in one chunk.
pub const MAX_EXECUTIONS: usize = 1 << 20;
/// Maximum number of data accesses in one chunk.
pub const MAX_ACCESSES: usize = 1 << 23;
/// Maximum number of accesses, including fetches, in one chunk with repeats: a reader keeps them
/// all.
pub const MAX_REFERENCES: usize = 1 << 24;
/// Maximum number of distinct templates in one chunk.
pub const MAX_TEMPLATES: usize = 1 << 16;
