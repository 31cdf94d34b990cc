//! All schedulers, in the order in which they are listed.

use super::entry::Entry;
use super::{free, pinned, split, split_if_idle, steal, steal_random, teams, wide};

/// All schedulers. To add one, add a file next to this one and an entry here.
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
