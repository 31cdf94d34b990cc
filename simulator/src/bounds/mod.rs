//! One core of a split by itself: what it misses, and a lower bound on that.
//!
//! [`private_replay`] simulates the private caches of one core without the other cores;
//! [`lower_bound`] counts the misses that no private caches of that size avoid. Both need a trace
//! that [`crate::Prepared`] holds.

pub(crate) mod lower_bound;
pub(crate) mod private_replay;
