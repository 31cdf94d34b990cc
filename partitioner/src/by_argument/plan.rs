//! The plan from a search by argument.

use super::search::Found;
use crate::carriers::refusal;
use crate::plan::{expected, planned};
use crate::request_function::request;
use corehop_plan::{Destination, Mode, Plan, VERSION_BY_ARGUMENT};
use corehop_traces::Trace;

/// Returns the plan for a result of a search with this seed, on `machine` in the trace called
/// `trace_name`.
pub fn plan_of(
    found: &Found,
    trace: &Trace,
    trace_name: &str,
    (machine, seed): (&str, u64),
) -> Plan {
    let to = Destination::By(found.by());
    Plan {
        version: VERSION_BY_ARGUMENT,
        machine: machine.into(),
        trace: trace_name.into(),
        cores: found.cores,
        seed,
        carriers_refuse: refusal(trace),
        request: request(trace),
        expected: expected(&found.searched, found.held_out.as_ref()),
        functions: vec![planned(trace, found.argument.function, (to, Mode::Enter))],
    }
}
