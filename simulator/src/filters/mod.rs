//! Filters: they drop references that need not be simulated, because these change nothing or are
//! guaranteed to hit.
//!
//! Dropping such references is trace stripping. [`trace_reduction`] makes a chunk of the trace into
//! short streams, one for each set partition; [`stream`] keeps them, and [`entry`] says what is in
//! them. [`guaranteed_hit`] drops references of a piece that hit whatever ran before.

pub(crate) mod entry;
pub(crate) mod guaranteed_hit;
pub(crate) mod stream;
pub(crate) mod trace_reduction;
