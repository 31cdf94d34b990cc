//! Imports and exports traces of other tools, so that simulators can replay each other's traces.
//!
//! Each format is a module with an `import`, which drives a [`crate::Writer`], and an export.
//! Formats contain less or more than a corehop trace; `docs/reference/exchange.md` lists what is
//! lost. Input that breaks its format is rejected with its place, because guessing would give
//! unreliable results.
//!
//! ```
//! use corehop_traces::convert::{Options, lackey};
//! use corehop_traces::{Header, Writer, WriterOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("ls.trace");
//! let writer = Writer::create(&path, &Header::default(), &WriterOptions::default())?;
//! let text = "I  00401000,4\n L 7ffd3a10,8\n";
//! let imported = lackey::import(text.as_bytes(), "ls.lackey", writer, &Options::default())?;
//! assert_eq!(imported.summary.accesses, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod assembler;
pub mod bolt;
pub mod champsim;
pub mod drmemtrace;
mod error;
mod functions;
pub mod lackey;
mod unpack;

pub use error::{Error, FilePosition};

use crate::Summary;

/// Options for importing a trace of another tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Address of the instruction at which each request begins.
    pub request_at: Option<u64>,
    /// For text only: consecutive instructions form one code block. A line of code then counts as
    /// one fetch, as in a recording, rather than one per instruction.
    pub join: bool,
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Size and totals of the trace.
    pub summary: Summary,
    /// Number of executed instructions; `None` if the format does not contain it.
    pub instructions: Option<u64>,
    /// What a trace cannot contain and was omitted, with the number of each.
    pub left_out: Vec<(&'static str, u64)>,
    /// Texts about properties of the trace that limit the validity of results.
    pub warnings: Vec<String>,
}
