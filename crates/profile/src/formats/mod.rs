//! A profile by source line in formats of other profilers, which people already read.
//!
//! `stacks` turns the rows into stacks, `figures` has what is counted, and each format has a file.
//! In each, a figure of all stacks adds up to the profile's total.

mod callgrind;
mod export;
mod figures;
mod firefox;
mod pprof;
mod speedscope;
mod stacks;

pub use export::Export;

use std::io::{Result, Write};

/// A format of another profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Valgrind's callgrind.
    Callgrind,
    /// pprof's `profile.proto`, packed by gzip.
    Pprof,
    /// JSON of speedscope.
    Speedscope,
    /// JSON of the Firefox Profiler.
    Firefox,
}

impl Format {
    /// Whether it is not text.
    #[must_use]
    pub fn is_binary(self) -> bool {
        self == Format::Pprof
    }

    /// Writes a profile in this format.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, export: &Export<'_>, out: &mut impl Write) -> Result<()> {
        match self {
            Format::Callgrind => callgrind::write(export, out),
            Format::Pprof => pprof::write(export, out),
            Format::Speedscope => speedscope::write(export, out),
            Format::Firefox => firefox::write(export, out),
        }
    }
}
