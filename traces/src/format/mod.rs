//! The file format of a trace: a sequence of entries; each entry is a Cap'n Proto message.
//!
//! An [`entry`] is sealed with its number and a checksum. It contains definitions or a [`chunk`] of
//! executions, both as compressed columns. A chunk's [`system_calls`] are separate columns. A chunk
//! is encoded from a [`raw_chunk`]. Each [`rule`] applies to every file.

pub(crate) mod chunk;
mod column;
pub(crate) mod definition;
pub(crate) mod entry;
pub(crate) mod heap_events;
pub(crate) mod pages;
pub(crate) mod raw_chunk;
pub(crate) mod rule;
pub(crate) mod system_calls;
// Generated from `schema/trace.capnp`; a test checks that it is current.
#[allow(clippy::all, clippy::too_many_lines, clippy::undocumented_unsafe_blocks)]
#[allow(unused, unreachable_pub)]
#[rustfmt::skip]
pub(crate) mod trace_capnp;
