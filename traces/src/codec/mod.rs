//! How a trace gets small: what follows from earlier data is not stored.
//!
//! An execution is stored as the number of its access [`template`]. Sequences of executions that
//! come again are stored as [`matches`], which the [`match_finder`] finds. Most data addresses are
//! predicted from an earlier [`address`]. A reader undoes this; [`bounds`] and [`sources`] tell it
//! where matches and their sources lie. For cache simulation, the [`trace_filter`] leaves out line
//! references that change no cache.

pub(crate) mod address;
pub(crate) mod bounds;
pub(crate) mod match_finder;
pub(crate) mod matches;
pub(crate) mod sources;
pub(crate) mod template;
pub(crate) mod trace_filter;
