//! The details of a replay: its totals and, by segment and function, where they come from.

use corehop_simulator::Replay;
use corehop_simulator::detail::{Detail, Segments};

/// One replay in detail.
pub struct Summary {
    /// Its totals.
    pub(super) replay: Replay,
    /// What its segments are called.
    pub(super) segments: Segments,
    /// Everything else.
    pub(super) detail: Detail,
}
