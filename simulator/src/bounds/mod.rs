//! What a core misses by itself, and what it misses at least.
//!
//! [`private_replay`] simulates one core of a split without the others; [`lower_bound`] counts what
//! no private caches of that size avoid. Both need a trace that [`crate::Prepared`] holds.

pub(crate) mod lower_bound;
pub(crate) mod private_replay;
