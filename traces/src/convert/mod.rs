//! Traces of other tools, in and out, so that their simulators replay ours and ours replays theirs.
//!
//! Each format is a module with an `import`, which feeds a [`crate::Writer`], and what
//! writes it. Formats tell less than a corehop trace or more; what is lost on the way is said in
//! `docs/reference/exchange.md`. Bytes that break a format are refused with their place: a trace
//! that was guessed at would give figures that nobody can trust.
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
pub mod champsim;
pub mod drmemtrace;
mod error;
mod functions;
pub mod lackey;
mod unpack;

pub use error::{Error, FilePosition};

use crate::Summary;

/// How a trace of another tool is understood.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Address of the instruction at which each request begins.
    pub request_at: Option<u64>,
    /// Of text only: instructions that follow one another are one code block, so that a line of
    /// code counts as one fetch, as in a recording, and not each instruction.
    pub join: bool,
}

/// What came of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// What the trace holds.
    pub summary: Summary,
    /// How many instructions were executed; `None` where the format does not tell.
    pub instructions: Option<u64>,
    /// What a trace cannot hold and was left out, and how many there were of each.
    pub left_out: Vec<(&'static str, u64)>,
    /// What makes figures of the trace less than they seem, in words.
    pub warnings: Vec<String>,
}
