//! Hooks are turned into bytes here: trampolines, the tables that the runtime reads, those that
//! unwinders read, and the file that holds them.
//!
//! Nothing is read from disk and nothing written to it; whether the hooks are safe is settled.

mod code;
mod compose;
mod mismatch;
mod table;
mod trampoline;
mod unfit;
mod unwind;

pub(crate) use code::Code;
pub(crate) use compose::{Composed, TOOL, compose, needed};
pub(crate) use mismatch::Mismatch;
pub(crate) use table::{Table, number};
pub(crate) use trampoline::{check_stub, check_trampoline, entry_jump};
pub(crate) use unfit::Unfit;
pub(crate) use unwind::rows;
