//! Filters: they drop references that need not be simulated, because they change nothing or are
//! guaranteed to hit.
//!
//! Dropping such references is trace stripping. [`trace_reduction`] converts a chunk of the trace
//! to short streams, one for each set partition; [`stream`] stores them, and [`entry`] defines
//! their entries. [`guaranteed_hit`] drops references of a piece that hit whatever ran before.

pub(crate) mod entry;
pub(crate) mod guaranteed_hit;
pub(crate) mod stream;
pub(crate) mod trace_reduction;
