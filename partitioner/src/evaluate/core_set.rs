//! The sets of occurrences whose costs are stored, and the groups of these costs.

use super::keys::Key;
use super::placement::IndexedPlacement;

/// Number of groups of set partitions; set partitions are assigned round robin. The misses of each
/// group can be requested separately.
pub const GROUPS: usize = 8;

/// Marks misses that are not simulated yet.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// A set of occurrences that run on a core.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CoreSet(pub(super) Key);

/// A set, and a split with the core on which it runs.
pub(super) type PlacedSet<'s> = (CoreSet, &'s IndexedPlacement, usize);
