//! Starts a program with its hooks in memory: none of its files is changed.

mod parts;
mod preload;

pub use preload::InMemory;
