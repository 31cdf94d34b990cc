//! What is written: a profile by source line, and how it came to be.

use super::figures::{Figure, figures};
use super::stacks::{Stack, stacks};
use crate::cost::Cost;
use crate::view::{Order, View};
use corehop_plan::inert;
use corehop_simulator::Machine;
use corehop_traces::Trace;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a reader says that the file was made by.
pub(super) const CREATOR: &str = concat!("corehop ", env!("CARGO_PKG_VERSION"));

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
    /// Whether addresses were translated.
    pub has_tlbs: bool,
}

impl Export<'_> {
    pub(super) fn figures(&self) -> Vec<&'static Figure> {
        figures(self.machine, self.order, self.has_tlbs)
    }

    pub(super) fn stacks(&self) -> BTreeMap<Stack, Cost> {
        stacks(self.view)
    }

    pub(super) fn title(&self) -> Cow<'_, str> {
        inert(self.title)
    }
}
