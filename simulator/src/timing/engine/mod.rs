//! The event simulation: cores with clocks, of which the one that is behind goes on.
//!
//! [`turn`] is the loop over events and what a core does in its turn, [`core`] one core with its
//! sums, [`connection`] one connection on its way through its stream, and [`watch`] listens to the
//! caches. [`prefetching`] does what prefetchers say, and [`unused`] knows what became of it.

pub(crate) mod connection;
pub(crate) mod core;
pub(crate) mod prefetching;
pub(crate) mod turn;
pub(crate) mod unused;
pub(crate) mod watch;
