//! Operations that need unsafe code: specific instructions, and memory by page size.
//!
//! Each file has one such operation and is as small as possible. The instructions are in assembly
//! because their number and dependences are measured. A compiler may neither drop one nor add a
//! bounds check, whatever the build profile.

pub mod additions;
pub mod branches;
pub mod chain;
pub mod follow;
pub mod jumps;
pub mod mapping;
pub mod modified_lines;
pub mod ticks;
pub mod usage;
