//! What of a trace need not be simulated: references that change nothing, or are guaranteed to hit.
//!
//! Leaving such references out is trace stripping. [`trace_reduction`] makes a chunk of the trace
//! into short streams, one for each set partition; [`stream`] keeps them, and [`entry`] says what
//! is in them. [`guaranteed_hit`] leaves out of a piece what hits whatever ran before.

pub(crate) mod entry;
pub(crate) mod guaranteed_hit;
pub(crate) mod stream;
pub(crate) mod trace_reduction;
