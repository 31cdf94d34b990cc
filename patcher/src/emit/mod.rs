//! Turns hooks into bytes: trampolines, the tables that the runtime and unwinders read, and the
//! file that contains them.
//!
//! It does not access the disk. The hooks were already found to be safe.

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
