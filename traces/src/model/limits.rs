//! The limits of one chunk of a trace, which bound the memory that reading it takes.

/// The most executions in one chunk.
pub const MAX_EXECUTIONS: usize = 1 << 20;
/// The most data accesses in one chunk, which bounds the memory that reading one takes.
pub const MAX_ACCESSES: usize = 1 << 23;
/// The most accesses in one chunk with matches, fetches included: a reader keeps them all.
pub const MAX_REFERENCES: usize = 1 << 24;
/// The most distinct templates in one chunk.
pub const MAX_TEMPLATES: usize = 1 << 16;
