//! What only unsafe code can do here: instructions by name, and memory by page size.
//!
//! Each file has one such thing and is as small as that allows. The instructions are written in
//! assembly because their number and dependence are what is measured: a compiler may neither drop
//! one nor add a bounds check, whatever the build's profile.

pub mod additions;
pub mod chain;
pub mod follow;
pub mod jumps;
pub mod mapping;
pub mod modified_lines;
pub mod ticks;
pub mod usage;
