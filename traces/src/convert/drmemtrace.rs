//! The records of DynamoRIO's drmemtrace: one file of 12-byte records, uncompressed.
//!
//! What is read and written is the stream that its analysis tools read: `trace_entry_t` of 64-bit
//! builds, packed, little-endian: a type in 16 bits, a size in 16, an address or value in 64. The
//! numbers are those of drmemtrace's `trace_type_t`, `trace_marker_type_t` and
//! `offline_file_type_t`. Raw traces that were not converted yet, and archives, are not read.

mod export;
mod frames;
mod import;
mod pages;
mod record;

pub use export::Exporter;
pub use import::import;
