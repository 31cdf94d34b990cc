//! The event simulation: cores with clocks, of which the one with the smallest clock continues.
//!
//! [`turn`] is the event loop and the execution of a core's turn. [`core`] is one core with its
//! sums, and [`connection`] one connection with its position in its stream. [`memory`] has the
//! caches, and [`watch`] observes them. [`translating`] executes page walks, [`predicting`]
//! predicts branches, and [`prefetching`] prefetches; [`unused`] tracks the use of these.

pub(crate) mod connection;
pub(crate) mod core;
pub(crate) mod memory;
pub(crate) mod predicting;
pub(crate) mod prefetching;
pub(crate) mod translating;
pub(crate) mod turn;
pub(crate) mod unused;
pub(crate) mod watch;
