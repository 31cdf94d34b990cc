//! Applies a plan: chooses, patches and verifies files, or starts a program with hooks in memory.

mod choose;
mod finding;
mod in_memory;
mod patch;
mod privileges;
mod undo;
mod unwinding;
mod verify;
mod write;

pub use in_memory::InMemory;
pub use patch::{Patched, patch, patch_all};
pub use verify::{Verification, verify};
