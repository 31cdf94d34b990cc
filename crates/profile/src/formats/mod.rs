//! A profile by source line in formats of other profilers, which people already read.
//!
//! `stacks` turns the rows into stacks, `figures` has what is counted, and each format has a file.
//! In each, a figure of all stacks adds up to the profile's total.

mod callgrind;
mod figures;
mod firefox;
mod numbered;
mod pprof;
mod speedscope;
mod stacks;

use crate::cost::Cost;
use crate::view::{Order, View};
use corehop_plan::inert;
use corehop_simulator::Machine;
use corehop_traces::Trace;
use figures::{Figure, figures};
use stacks::{Stack, stacks};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// What a reader says that the file was made by.
const CREATOR: &str = concat!("corehop ", env!("CARGO_PKG_VERSION"));

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
}

/// What is written.
pub struct Export<'p> {
    /// The profile by source line.
    pub view: &'p View,
    /// The trace that was profiled.
    pub trace: &'p Trace,
    /// What a reader shows above it: what was profiled, and how.
    pub title: &'p str,
    /// The machine that it was replayed on.
    pub machine: &'p Machine,
    /// Whose figure comes first.
    pub order: Order,
}

impl Export<'_> {
    /// Writes it in this format.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, format: Format, out: &mut impl Write) -> Result<()> {
        match format {
            Format::Callgrind => callgrind::write(self, out),
            Format::Pprof => pprof::write(self, out),
            Format::Speedscope => speedscope::write(self, out),
            Format::Firefox => firefox::write(self, out),
        }
    }

    fn figures(&self) -> Vec<&'static Figure> {
        figures(self.machine, self.order)
    }

    fn stacks(&self) -> BTreeMap<Stack, Cost> {
        stacks(self.view)
    }

    fn title(&self) -> Cow<'_, str> {
        inert(self.title)
    }
}
