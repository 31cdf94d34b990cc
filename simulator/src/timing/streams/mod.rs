//! The references of connections: streams that are extracted from a trace once for all settings.
//!
//! [`stream`] is the stream of one connection, [`connections`] reads them from a trace, and
//! [`annotate`] provides what core models need besides lines. [`branches`] infers branches.

pub(crate) mod annotate;
mod branches;
pub(crate) mod connections;
pub(crate) mod stream;
