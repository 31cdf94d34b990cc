//! All schedulers, in the order in which they are listed.

use super::entry::Entry;
use super::{free, pinned, split, split_if_idle, steal, steal_random, teams, wide};

/// All schedulers. A new one is a file beside this one and a line here.
pub static SCHEDULERS: &[&Entry] = &[
    &free::ENTRY,
    &pinned::ENTRY,
    &split::ENTRY,
    &split_if_idle::ENTRY,
    &teams::ENTRY,
    &wide::ENTRY,
    &steal::ENTRY,
    &steal_random::ENTRY,
];
