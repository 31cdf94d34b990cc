//! Prefetchers: what a core guesses that its L2 should have.
//!
//! There is a file for each, behind one [trait](prefetcher), and a line for each in the
//! [registry](registry). The engine takes the prefetcher as a type parameter, so that a replay with
//! none pays nothing for those that there are.

pub(crate) mod next_line;
pub(crate) mod none;
pub(crate) mod prefetcher;
pub(crate) mod registry;
pub(crate) mod stride;
