//! The common options that `--pollute` and `--system-calls` use: files, requests, and where threads
//! run. These replays simulate one machine.

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
    pub trace: &'a Path,
    pub taken: &'a AddressingOptions,
    pub machine: &'a str,
    pub plan: Option<&'a Path>,
    pub baseline: Baseline,
    pub requests: Option<&'a RequestList>,
    pub warm_up: usize,
    pub json: bool,
}

/// What they name.
pub struct Opened {
    pub plan: Option<Plan>,
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
