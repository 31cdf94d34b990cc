//! The results of a replay: events during it, tallies of them, and counters at the end.
//!
//! [`observer`] defines the events, [`tally`] sums them for each core, [`counters`] adds derived
//! values, and [`replay`] holds the totals. [`tlb_counters`] counts address translation.

pub(crate) mod counters;
pub(crate) mod observer;
pub(crate) mod replay;
pub(crate) mod tally;
pub(crate) mod tlb_counters;
