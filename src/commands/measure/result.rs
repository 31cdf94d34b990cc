//! The measured and the expected result, and doubts about the figures.

use super::arguments::Arguments;
use super::predicted::Predicted;
use crate::measuring::untold;
use corehop_measure::machine::counters::Kind;
use corehop_measure::rounds::{Comparison, Rounds, Verdict};
use corehop_plan::Plan;

/// The measured result and its context.
pub struct Report<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) plan: Option<&'a Plan>,
    pub(super) rounds: Rounds,
    pub(super) comparison: Comparison,
    /// The counters of this processor, or why there are none.
    pub(super) counters: std::io::Result<Vec<Kind>>,
    pub(super) predicted: Predicted,
}

impl Report<'_> {
    /// Returns the verdict; an error, such as an interruption, leaves none.
    pub fn verdict(&self) -> Verdict {
        match self.rounds.why_cut_short() {
            Some(_) => Verdict::Inconclusive,
            None => self.comparison.verdict(),
        }
    }

    /// Returns a doubt about the figures, if there is one.
    pub fn doubt(&self) -> Option<String> {
        if let Some(doubt) = untold(&self.rounds) {
            return Some(doubt);
        }
        let told = self.rounds.hops()?;
        if told.is_any() {
            return None;
        }
        let backend = &told.backend;
        Some(match self.arguments.system_calls {
            Some(_) => format!(
                "warning: the patched server made no asynchronous call (backend {backend}): it \
                 makes none of them under this load, or prints the reason on standard error \
                 (--verbose shows it)"
            ),
            None => format!(
                "warning: the patched server never hopped (backend {backend}): the load does not \
                 reach the plan's functions, or COREHOP_BACKEND prevents hops"
            ),
        })
    }
}
