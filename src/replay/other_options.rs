//! The common options of replays that simulate one machine, such as `--system-calls`: files,
//! requests, and where threads run.

use super::at_fault::about;
use super::counted::Baseline;
use crate::addressing::AddressingOptions;
use crate::failure::Failure;
use crate::requests::RequestList;
use corehop_plan::Plan;
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_traces::Trace;
use std::path::Path;

/// The options.
pub struct OtherOptions<'a> {
    /// The trace to replay.
    pub trace: &'a Path,
    /// How its addresses are taken.
    pub taken: &'a AddressingOptions,
    /// The machine to simulate: a bundled name, `host`, or a file.
    pub machine: &'a str,
    /// The plan by which threads hop.
    pub plan: Option<&'a Path>,
    /// Where threads run without a plan.
    pub baseline: Baseline,
    /// The requests to replay; all without a list.
    pub requests: Option<&'a RequestList>,
    /// How many of them are replayed before counting starts.
    pub warm_up: usize,
    /// Whether JSON is printed instead of tables.
    pub json: bool,
}

/// What they name.
pub struct Opened {
    /// The plan, if one was named.
    pub plan: Option<Plan>,
    /// The trace.
    pub trace: Trace,
    /// Where threads run: as the plan says, or the baseline.
    pub split: Split,
}

impl OtherOptions<'_> {
    /// Reads the plan, if there is one, and the trace.
    ///
    /// # Errors
    /// What is wrong with either, or that the plan is not of this trace.
    pub fn open(&self, machine: &Machine) -> Result<Opened, Failure> {
        let plan = self.plan.map(corehop_plan::read).transpose()?;
        let trace = self.taken.open(self.trace)?;
        let split = match &plan {
            Some(plan) => Split::of_plan(plan, &trace).map_err(|error| about(self.plan, error))?,
            None => self.baseline.split(&trace, machine, None),
        };
        Ok(Opened { plan, trace, split })
    }

    /// Which requests are replayed, and which of them count.
    pub fn of_requests<'p>(
        &self,
        trace: &Trace,
        progress: &'p (dyn Fn(u64) + Sync),
    ) -> ReplayOptions<'p> {
        ReplayOptions {
            requests: self.requests.map(|list| list.of(trace.requests().len())),
            warm_up_requests: self.warm_up,
            progress: Some(progress),
        }
    }
}
