//! How a scheduler presents itself: its name, what it needs, and who can do it.

use super::scheduler::Scheduler;
use crate::{Machine, Split};

/// A scheduler, for whoever lists or chooses one.
pub struct Entry {
    /// As on the command line.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Who can do it outside a simulation.
    pub standing: Standing,
    /// Whether it goes by a plan.
    pub goes_by_plan: bool,
    /// The number that may follow the name, if one may.
    pub argument: Option<Argument>,
    /// Makes it for a simulation.
    pub build: fn(&Setup<'_>) -> Box<dyn Scheduler>,
}

/// Who can do what a scheduler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A kernel's scheduler, without corehop.
    Kernel,
    /// corehop's runtime, or a kernel that is told so.
    Runtime,
    /// Nobody yet.
    WhatIf,
}

impl Standing {
    /// The standing in one word.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Kernel => "kernel",
            Standing::Runtime => "runtime",
            Standing::WhatIf => "what-if",
        }
    }
}

/// A number that a scheduler takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What it is.
    pub meaning: &'static str,
    /// Where none is given.
    pub default: u32,
    /// The least that makes sense.
    pub least: u32,
}

/// What a scheduler is made from.
pub struct Setup<'a> {
    /// How many cores there are.
    pub cores: usize,
    /// The machine that they are of.
    pub machine: &'a Machine,
    /// The plan; an empty one if the scheduler does not go by any.
    pub split: &'a Split,
    /// References by stage of the split.
    pub load: &'a dyn Fn() -> Vec<u64>,
    /// The number behind the name, or its default.
    pub argument: u32,
    /// Of all random numbers.
    pub seed: u64,
}
