//! Unwinders find their way through the code of hooks, too: a patched file has longer unwind
//! tables.
//!
//! Debuggers take the section `.eh_frame`, exceptions and `backtrace()` the search table of the
//! program headers, profilers one or the other. All of them need one table of the whole file, so
//! the original's is copied, and what describes the hooks' code follows it. Where a moved
//! instruction stands, the registers are found as at the original instruction: its row is copied.
//! A function without unwind information has none in its trampoline either, and a file whose tables
//! are not the usual ones keeps them as they are. So does memory: a running program has one
//! `.eh_frame` for each file. To register another one with libgcc takes a lock at each exception.

mod copied;
mod rows;
mod tables;

pub(crate) use rows::rows;
pub(crate) use tables::UnwindTables;
