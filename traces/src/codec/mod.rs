//! How a trace gets small: what need not be stored because it follows from what was stored before.
//!
//! An execution becomes the number of its [`template`]; executions that come again become
//! [`matches`], which the [`match_finder`] finds; most data addresses are predicted from an earlier
//! [`address`]. A reader undoes this, and asks [`bounds`] and [`sources`] where a match lies. Of
//! the lines that are left, the ones that no cache can tell from nothing are left out by the [`trace_filter`].

pub(crate) mod address;
pub(crate) mod bounds;
pub(crate) mod match_finder;
pub(crate) mod matches;
pub(crate) mod sources;
pub(crate) mod template;
pub(crate) mod trace_filter;
