//! The common options of replays that simulate one machine, such as `--system-calls`: files,
//! requests, and where threads run.

use super::at_fault::about;
use super::counted::Baseline;
use crate::failure::Failure;
use crate::options::addressing::AddressingOptions;
use crate::options::requests::{RequestList, request_list};
use clap::Args;
use corehop_plan::Plan;
use corehop_simulator::{Machine, ReplayOptions, Split};
use corehop_traces::Trace;
use std::path::{Path, PathBuf};

/// Which requests are replayed, and where threads run.
#[derive(Args)]
pub struct Run {
    /// Plan whose hops to simulate
    #[arg(long, value_name = "PLAN", help_heading = "Simulation")]
    pub plan: Option<PathBuf>,
    /// Where threads run without a plan
    #[arg(
        long,
        value_enum,
        default_value_t = Baseline::OneCore,
        help_heading = "Simulation"
    )]
    pub baseline: Baseline,
    /// Replay only these requests, counted from 0, such as 3,5-9
    ///
    /// Default: the whole trace, including what belongs to no request.
    #[arg(
        long,
        value_name = "LIST",
        value_parser = request_list,
        help_heading = "Simulation"
    )]
    pub requests: Option<RequestList>,
}

/// The options.
pub struct OtherOptions<'a> {
    /// The trace to replay.
    pub trace: &'a Path,
    /// The addresses that it is read by.
    pub taken: &'a AddressingOptions,
    /// The machine to simulate: a bundled name, `host`, or a file.
    pub machine: &'a str,
    /// Which requests are replayed, and where threads run.
    pub run: &'a Run,
    /// How many of them are replayed before counting starts.
    pub warm_up: usize,
    /// Whether JSON is printed instead of tables.
    pub json: bool,
}

/// The files that the options name.
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
    /// If either is invalid, or the plan does not fit the trace.
    pub fn open(&self, machine: &Machine) -> Result<Opened, Failure> {
        let path = self.run.plan.as_deref();
        let plan = path.map(corehop_plan::read).transpose()?;
        let trace = self.taken.open(self.trace)?;
        let split = match &plan {
            Some(plan) => Split::of_plan(plan, &trace).map_err(|error| about(path, error))?,
            None => self.run.baseline.split(&trace, machine, None),
        };
        Ok(Opened { plan, trace, split })
    }

    /// Returns which requests are replayed, and which of them count.
    pub fn of_requests<'p>(
        &self,
        trace: &Trace,
        progress: &'p (dyn Fn(u64) + Sync),
    ) -> ReplayOptions<'p> {
        ReplayOptions {
            requests: self
                .run
                .requests
                .as_ref()
                .map(|list| list.of(trace.requests().len())),
            warm_up_requests: self.warm_up,
            progress: Some(progress),
            page_sizes: None,
        }
    }
}
