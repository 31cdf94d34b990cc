//! Compression of a trace: data that follows from earlier data is not stored.
//!
//! An execution is stored as the number of its access [`template`]. Repeated sequences of
//! executions are stored as [`matches`], which the [`match_finder`] finds. Most data addresses are
//! predicted from an earlier [`address`]. A reader reverses this, using [`bounds`] and [`sources`]
//! to locate matches and their sources. For cache simulation, the [`trace_filter`] removes line
//! references that change no cache.

pub(crate) mod address;
pub(crate) mod bounds;
pub(crate) mod match_finder;
pub(crate) mod matches;
pub(crate) mod sources;
pub(crate) mod template;
pub(crate) mod trace_filter;
