//! Which search for hops that not every call of a function makes is asked for.

use super::asked::Asked;
use super::{by_argument, one_call};
use crate::failure::{Exit, Failure};
use clap::Args;

/// Which of them is asked for.
#[derive(Args)]
pub struct ByCall {
    /// Search for a function whose calls go to the core of the object that an argument points to,
    /// on 2 to --cores cores.
    #[arg(
        long,
        conflicts_with_all = ["functions", "fewer", "sweep", "backend", "repeat_connections",
            "draws", "max_calls", "group_within", "strategy", "returns", "time_limit",
            "checkpoint", "delegate", "only", "points"]
    )]
    by_argument: bool,
    /// Search for a function that requests call more than once, and the one of its calls at which
    /// they go on on a second core.
    #[arg(
        long,
        conflicts_with_all = ["by_argument", "functions", "fewer", "sweep", "backend",
            "repeat_connections", "draws", "max_calls", "strategy", "returns", "time_limit",
            "checkpoint", "delegate", "only", "points"]
    )]
    one_call: bool,
}

impl ByCall {
    pub fn is_asked(&self) -> bool {
        self.by_argument || self.one_call
    }

    /// Searches, tells, and keeps the plan unless it gains nothing.
    pub fn run(&self, asked: &Asked<'_>) -> Result<(), Failure> {
        let option = if self.one_call {
            "--one-call"
        } else {
            "--by-argument"
        };
        let [machine] = asked.machines else {
            let message = format!("{option} searches for one machine");
            return Err(Failure::new(Exit::Usage, message).remedy("name one --machine"));
        };
        match self.one_call {
            true => one_call::run(asked, machine),
            false => by_argument::run(asked, machine),
        }
    }
}
