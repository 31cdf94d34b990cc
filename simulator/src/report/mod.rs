//! What a replay reports: events as they happen, tallies of them, and counters in the end.
//!
//! [`observer`] names the events, [`tally`] sums them by core, [`counters`] adds what can be
//! derived, and [`replay`] holds the totals. [`tlb_counters`] is of address translation.

pub(crate) mod counters;
pub(crate) mod observer;
pub(crate) mod replay;
pub(crate) mod tally;
pub(crate) mod tlb_counters;
