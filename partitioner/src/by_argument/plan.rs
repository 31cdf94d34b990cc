//! The plan that a search by argument makes.

use super::search::Found;
use crate::plan::{comparison, request};
use corehop_plans::{Destination, Expected, Mode, Plan, PlannedFunction, VERSION_BY_ARGUMENT};
use corehop_traces::Trace;

/// The plan that carries out what was found on `machine` in `trace`, which people call
/// `trace_name`, by a search with this seed.
pub fn plan_of(
    found: &Found,
    trace: &Trace,
    trace_name: &str,
    (machine, seed): (&str, u64),
) -> Plan {
    let function = &trace.functions()[found.argument.function.index()];
    let module = &trace.modules()[function.module as usize];
    let expected = found.held_out.as_ref().map(|held_out| Expected {
        hops_per_request: held_out.hops as f64 / held_out.requests as f64,
        searched: comparison(&found.searched),
        held_out: comparison(held_out),
    });
    Plan {
        version: VERSION_BY_ARGUMENT,
        machine: machine.into(),
        trace: trace_name.into(),
        cores: found.cores,
        seed,
        request: request(trace),
        expected,
        functions: vec![PlannedFunction {
            module: module.path.clone(),
            build_id: module.build_id.clone(),
            offset: function.offset,
            symbol: function.symbol.clone(),
            to: Destination::By(found.by()),
            mode: Mode::Enter,
        }],
    }
}
