//! Longer unwind tables for a patched file, so that unwinders also find their way through the code
//! of hooks.
//!
//! Debuggers use the section `.eh_frame`, exceptions and `backtrace()` the search table of the
//! program headers, profilers one of the two. All of them need one table of the whole file. So the
//! original's is copied, and entries for the hooks' code follow it. At a moved instruction, the
//! registers are found as at the original instruction: its row is copied. A function without unwind
//! information has none in its trampoline either. A file with unusual tables keeps them unchanged.
//! So does a program that is hooked in memory, since it has one `.eh_frame` for each file. To
//! register another one with libgcc would take a lock at each exception.

mod copied;
mod rows;
mod tables;

pub(crate) use rows::rows;
pub(crate) use tables::UnwindTables;
