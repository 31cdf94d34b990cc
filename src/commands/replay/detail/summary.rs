//! The details of a replay: its totals, and their sources by segment and function.

use corehop_simulator::Replay;
use corehop_simulator::detail::{Detail, Segments};

/// One replay in detail.
pub struct Summary {
    /// The totals.
    pub(super) replay: Replay,
    /// The names of the segments.
    pub(super) segments: Segments,
    /// All other details.
    pub(super) detail: Detail,
}
