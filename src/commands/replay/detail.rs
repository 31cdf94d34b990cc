//! `corehop replay --detail`: reports which functions and segments miss, which lines they evict
//! from each other, reuse distances, and the working sets of requests.

mod json;
mod summary;
mod text;

use super::at_fault::about;
use crate::failure::Failure;
use clap::Args;
use corehop_plan::Plan;
use corehop_simulator::detail::{Segments, replay_in_detail};
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_traces::Trace;
use std::path::PathBuf;

pub use json::keys;
pub use summary::Summary;
pub use text::render;

/// The options that request more than totals.
#[derive(Args)]
pub struct DetailArguments {
    /// Also report misses by function, segment, and request, and reuse distances
    #[arg(long, help_heading = "Detail")]
    pub detail: bool,
    /// Number of functions in the table of functions
    #[arg(
        long,
        value_name = "FUNCTIONS",
        default_value_t = 15,
        requires = "detail",
        help_heading = "Detail"
    )]
    pub top: usize,
    /// Define segments by this plan, but keep threads on the cores of the baseline
    ///
    /// A segment is what a thread does from one function of the plan to the next. Default: the
    /// segments of --plan; without it, everything is one segment.
    #[arg(
        long,
        value_name = "PLAN",
        requires = "detail",
        conflicts_with = "plan",
        help_heading = "Detail",
        hide_short_help = true
    )]
    segments: Option<PathBuf>,
}

impl DetailArguments {
    /// Replays in detail, with threads placed by `split`. Segments are those of `--segments`, or
    /// else of `plan`.
    pub fn tell(
        &self,
        trace: &Trace,
        machine: &Machine,
        plan: Option<&Plan>,
        split: &Split,
        options: &ReplayOptions,
    ) -> Result<Summary, Failure> {
        let naming = self
            .segments
            .as_deref()
            .map(corehop_plan::read)
            .transpose()?;
        let segments = match naming.as_ref().or(plan) {
            Some(plan) => Segments::from_plan(plan, trace.modules(), trace.functions())
                .map_err(|error| about(self.segments.as_deref(), error))?,
            None => Segments::default(),
        };
        let (replay, detail) = replay_in_detail(trace, machine, split, &segments, options)?;
        Ok(Summary {
            replay,
            segments,
            detail,
        })
    }
}
