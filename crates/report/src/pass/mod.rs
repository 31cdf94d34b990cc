//! One pass over the replayed requests, and its listeners.
//!
//! `replay_pass` reports every line access. `pictured` collects a grid of cells for each request to
//! show. `call_tree` collects the misses of each call stack, which `folded` and `callgrind` write.
//! `perfetto` collects a timeline.

pub mod call_tree;
pub mod callgrind;
pub mod folded;
pub mod grid;
pub mod perfetto;
pub mod pictured;
mod regions;
pub mod replay_pass;
