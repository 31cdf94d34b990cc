//! The counts of simulated machines over the same requests, and where threads run without a plan.

use clap::ValueEnum;
use corehop_simulator::detail::Modes;
use corehop_simulator::{Machine, Replay, Split};
use corehop_traces::Trace;
use std::path::Path;

/// Where threads run without a plan.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Baseline {
    /// All threads on one core
    OneCore,
    /// Threads assigned in order to as many cores as the plan uses; without a plan, a core for each
    /// thread while the machine has cores
    ThreadPerCore,
}

impl Baseline {
    /// Returns the name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.expect("no baseline is hidden").get_name().to_owned()
    }

    /// Returns the split of a machine without a plan; `plan` determines how many cores one would
    /// use.
    pub fn split(self, trace: &Trace, machine: &Machine, plan: Option<&Split>) -> Split {
        let threads = trace.threads().len().try_into().unwrap_or(u32::MAX);
        match (self, plan) {
            (Baseline::OneCore, _) => Split::default(),
            (Baseline::ThreadPerCore, Some(plan)) => Split::thread_per_core(plan.cores()),
            (Baseline::ThreadPerCore, None) => Split::thread_per_core(threads.min(machine.cores)),
        }
    }
}

/// Replays of the same requests.
pub struct Report<'a> {
    pub trace: &'a Path,
    /// How the trace was recorded, as sentences.
    pub remarks: Vec<String>,
    pub warm_up: usize,
    pub baseline: Baseline,
    /// By machine; at least one.
    pub counted: Vec<Counted<'a>>,
}

/// The counts of one machine.
pub struct Counted<'a> {
    pub machine: &'a Machine,
    pub baseline: Replay,
    /// With the plan, if there is one.
    pub plan: Option<Replay>,
    /// User code and the kernel in the requested replay, if the trace has a kernel.
    pub modes: Option<Modes>,
}

impl Counted<'_> {
    /// Returns the requested replay: of the plan, if there is one.
    pub fn asked(&self) -> &Replay {
        self.plan.as_ref().unwrap_or(&self.baseline)
    }
}
