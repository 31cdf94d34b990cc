//! The records of DynamoRIO's drmemtrace, as it writes them: in a folder or a file, compressed or
//! not.
//!
//! This reads and writes the stream that drmemtrace's analysis tools read: `trace_entry_t` of
//! 64-bit builds. A record has 12 bytes, little-endian: a type in 16 bits, a size in 16, an address
//! or value in 64. The numbers are those of drmemtrace's `trace_type_t`, `trace_marker_type_t` and
//! `offline_file_type_t`. Unconverted raw traces are not supported.

mod branches;
mod export;
mod folder;
mod frames;
mod import;
mod input;
mod instructions;
mod left_out;
mod order;
mod pages;
mod program;
mod reading;
mod record;
mod sizes;
mod threads;

pub use branches::Branches;
pub use export::Exporter;
pub use import::{import, import_path};
pub(in crate::convert) use program::unknown_build;
pub use program::{Program, ProgramModule, ProgramSymbol};

pub use crate::convert::unpack::Watch;
