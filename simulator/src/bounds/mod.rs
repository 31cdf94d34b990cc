//! Misses of one core of a split, simulated alone, and a lower bound on them.
//!
//! [`private_replay`] simulates the private caches of one core without the other cores.
//! [`lower_bound`] counts the misses that no private caches of that size can avoid. Both need a
//! trace in a [`crate::Prepared`].

pub(crate) mod lower_bound;
pub(crate) mod private_replay;
