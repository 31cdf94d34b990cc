//! Prefetchers: they predict lines that a core's L2 will need.
//!
//! Each is a separate file that implements one [trait](prefetcher), and has an entry in the
//! [registry](registry). The engine of the timed replay takes the prefetcher as a type parameter,
//! so that a replay without one has no overhead.

pub(crate) mod next_line;
pub(crate) mod none;
pub(crate) mod prefetcher;
pub(crate) mod registry;
pub(crate) mod stride;
