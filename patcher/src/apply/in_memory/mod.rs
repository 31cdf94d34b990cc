//! A program is started with its hooks in memory: no file of it is changed.

mod parts;
mod preload;

pub use preload::InMemory;
