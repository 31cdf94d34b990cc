//! The sets of occurrences whose costs are remembered, and the groups that the costs come in.

use super::keys::Key;
use super::placement::IndexedPlacement;

/// Number of groups that set partitions fall into: every so manyth belongs to one. Misses of each
/// can be asked for by themselves.
pub const GROUPS: usize = 8;

/// Stands for misses that were not simulated.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// A set of occurrences that run on a core.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CoreSet(pub(super) Key);

/// A set, and a core of a split on which it runs.
pub(super) type PlacedSet<'s> = (CoreSet, &'s IndexedPlacement, usize);
