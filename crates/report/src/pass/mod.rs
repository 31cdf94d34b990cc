//! One pass over the replayed requests, and those who listen to it.
//!
//! `replay_pass` tells every line reference. `pictured` collects a grid of cells for each request
//! that is shown, `call_tree` the misses of each call stack, which `folded` and `callgrind` write,
//! and `perfetto` a timeline.

pub mod call_tree;
pub mod callgrind;
pub mod folded;
pub mod grid;
pub mod perfetto;
pub mod pictured;
mod regions;
pub mod replay_pass;
