//! The description of a scheduler: its name, what it needs, and whether it exists outside the
//! simulation.

use super::scheduler::Scheduler;
use crate::{Machine, Split};

/// A scheduler in the list of schedulers.
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// Where the policy exists outside a simulation.
    pub standing: Standing,
    /// Whether it uses a plan.
    pub goes_by_plan: bool,
    /// The argument that may follow the name, if any.
    pub argument: Option<Argument>,
    /// Creates it for a simulation.
    pub build: fn(&Setup<'_>) -> Box<dyn Scheduler>,
}

/// Where a policy exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A kernel's scheduler, without corehop.
    Kernel,
    /// corehop's runtime, or a kernel that is configured accordingly.
    Runtime,
    /// Only in the simulation so far.
    WhatIf,
}

impl Standing {
    /// Returns the standing as one word.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Kernel => "kernel",
            Standing::Runtime => "runtime",
            Standing::WhatIf => "what-if",
        }
    }
}

/// The argument of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its meaning.
    pub meaning: &'static str,
    /// The default value.
    pub default: u32,
    /// The minimum value.
    pub least: u32,
}

/// The parameters for creating a scheduler.
pub struct Setup<'a> {
    /// Number of cores.
    pub cores: usize,
    /// The machine of these cores.
    pub machine: &'a Machine,
    /// The plan; empty if the scheduler does not use one.
    pub split: &'a Split,
    /// Returns the number of references in each stage of the split.
    pub load: &'a dyn Fn() -> Vec<u64>,
    /// The argument, or its default.
    pub argument: u32,
    /// Seed of all random numbers.
    pub seed: u64,
}
