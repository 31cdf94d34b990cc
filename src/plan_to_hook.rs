//! Plans that hooks are made of: `patch`, `run` and `measure` need at least one function.
//!
//! A plan without any is valid, and replays as the original. Hooked, it would look as if its hops
//! changed nothing. So it is refused where its file is known by name.

use crate::failure::{Exit, Failure};
use corehop_plan::Plan;
use std::path::Path;

/// The plan in this file, which has functions.
pub fn plan_to_hook(path: &Path) -> Result<Plan, Failure> {
    let plan = corehop_plan::read(path)?;
    if plan.functions.is_empty() {
        let message = format!("{}: the plan names no function", path.display());
        let remedy = "search one with `corehop partition`";
        return Err(Failure::new(Exit::Refused, message).remedy(remedy));
    }
    Ok(plan)
}
