//! The event simulation: cores with clocks, of which the one with the smallest clock continues.
//!
//! [`turn`] is the event loop and the execution of a core's turn. [`core`] is one core with its
//! sums, and [`connection`] one connection with its position in its stream. [`watch`] observes the
//! caches. [`prefetching`] executes prefetches, and [`unused`] tracks their use.

pub(crate) mod connection;
pub(crate) mod core;
pub(crate) mod prefetching;
pub(crate) mod turn;
pub(crate) mod unused;
pub(crate) mod watch;
