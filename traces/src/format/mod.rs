//! How a trace stands in its file: entries, which are Cap'n Proto messages, one after another.
//!
//! An [`entry`] is sealed with its number and a checksum. It holds definitions or a [`chunk`] of
//! executions, both as compressed columns, and [`system_calls`] beside the latter; a [`raw_chunk`]
//! is what a chunk is encoded from. Each [`rule`] is one that every file keeps.

pub(crate) mod chunk;
mod column;
pub(crate) mod definition;
pub(crate) mod entry;
pub(crate) mod pages;
pub(crate) mod raw_chunk;
pub(crate) mod rule;
pub(crate) mod system_calls;
// Made from `schema/trace.capnp`, and kept current by a test.
#[allow(clippy::all, clippy::too_many_lines, clippy::undocumented_unsafe_blocks)]
#[allow(unused, unreachable_pub)]
#[rustfmt::skip]
pub(crate) mod trace_capnp;
