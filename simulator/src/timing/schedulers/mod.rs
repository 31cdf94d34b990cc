//! Scheduling policies, each in a separate file, behind one trait.
//!
//! [`scheduler`] is the trait, [`queues`] the state that policies see, [`entry`] the description of
//! a policy, and [`registry`] the list of all; [`choice`] is a policy as written on the command
//! line.

pub(crate) mod choice;
pub(crate) mod entry;
pub(crate) mod queues;
pub(crate) mod registry;
pub(crate) mod scheduler;

mod free;
mod pinned;
mod split;
mod split_if_idle;
mod steal;
mod steal_random;
mod teams;
mod wide;
