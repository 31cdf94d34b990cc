//! Reads plans for hooks: `patch`, `run`, and `measure` require at least one function.
//!
//! A plan without functions is valid, and replays as the original. With hooks, a measurement would
//! suggest that hops change nothing. Such a plan is therefore refused here, where the file's name
//! is known for the message.

use crate::failure::{Exit, Failure};
use corehop_plan::Plan;
use std::path::Path;

/// Reads the plan in this file, and fails if it has no functions.
pub fn plan_to_hook(path: &Path) -> Result<Plan, Failure> {
    let plan = corehop_plan::read(path)?;
    if plan.functions.is_empty() {
        let message = format!("{}: the plan names no function", path.display());
        let remedy = "search one with `corehop partition`";
        return Err(Failure::new(Exit::Refused, message).remedy(remedy));
    }
    Ok(plan)
}
