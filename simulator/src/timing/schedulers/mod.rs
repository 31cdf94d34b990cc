//! Where threads run: a policy a file, all behind one trait.
//!
//! [`scheduler`] is what a policy is asked, [`queues`] what it is shown, [`entry`] how it presents
//! itself, and [`registry`] the list of all; [`choice`] is one of them as the command line names
//! it.

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
