//! Checks that this process has the CPUs that a plan needs. With fewer CPUs, the server runs
//! without hops, and a measurement shows nothing about the plan.

use crate::failure::{Exit, Failure};
use corehop_plan::Plan;
use corehop_support::format::number::counted;
use corehop_support::topology::allowed;

/// Fails if hops are to be measured but none is possible.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let moves_nobody = matches!(named("COREHOP_BACKEND").as_deref(), Some("count" | "off"));
    let cpus = allowed().len();
    if moves_nobody || named("COREHOP_CPUS").is_some() || cpus >= plan.cores as usize {
        return Ok(());
    }
    let cores = plan.cores;
    let cpus_told = counted(cpus as u64, "CPU", "CPUs");
    let message = format!(
        "the plan needs {cores} cores, and corehop and what it starts may run on {cpus_told}: \
         nothing would hop"
    );
    let widen = "widen the mask (taskset, the container's CPUs)";
    Err(Failure::new(Exit::Missing, message).remedy(match cpus {
        0 | 1 => widen.to_owned(),
        several => format!("{widen}, or search a plan for {several} cores"),
    }))
}
