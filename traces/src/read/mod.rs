//! How a trace is read: opened, checked, and played.
//!
//! Opening and checking both read a file entry by entry and gather its contents. An open [`trace`]
//! plays its [`executions`] in the one order of all threads, or hands its chunks to a [`player`],
//! which plays each by itself as lines referenced; [`calls`] tell where functions return,
//! [`open_calls`] which are open, and [`arguments`] what they were called with.

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
