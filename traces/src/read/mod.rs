//! Reads a trace: opens, checks, and plays it.
//!
//! Opening and checking both read a file entry by entry and collect its contents. An open [`trace`]
//! plays its [`executions`] in the order of all threads. It can also pass its chunks to a
//! [`player`], which plays each chunk separately as line references. [`calls`] finds where
//! functions return, [`open_calls`] which calls are open, and [`arguments`] their arguments.

pub(crate) mod arguments;
mod at_calls;
mod batch;
pub(crate) mod calls;
pub(crate) mod check;
mod contents;
pub(crate) mod executions;
mod numbered;
pub(crate) mod open_calls;
pub(crate) mod order;
pub(crate) mod player;
mod points;
mod reading;
pub(crate) mod sizes;
mod switches;
pub(crate) mod trace;
mod wanted;
