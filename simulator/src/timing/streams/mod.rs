//! What connections do: streams of line references, found in a trace once for all settings.
//!
//! [`stream`] is one connection's, [`connections`] reads them from a trace, and [`annotate`] is
//! where core models learn more of an execution than its lines.

pub(crate) mod annotate;
pub(crate) mod connections;
pub(crate) mod stream;
