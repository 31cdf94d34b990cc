//! The plan that a search for one call makes.

use super::search::Found;
use crate::plan::{comparison, request};
use corehop_plans::{
    Destination, Expected, KthCall, Mode, Plan, PlannedFunction, VERSION_BY_ARGUMENT,
};
use corehop_traces::{FunctionId, Trace};

/// The plan that carries out what was found on `machine` in `trace`, which people call
/// `trace_name`, by a search with this seed.
pub fn plan_of(
    found: &Found,
    trace: &Trace,
    trace_name: &str,
    (machine, seed): (&str, u64),
) -> Plan {
    let held_out = found.held_out.as_ref();
    let call = KthCall {
        core: 1,
        call: found.choice.call,
    };
    let planned = |function: FunctionId, to| {
        let function = &trace.functions()[function.index()];
        let module = &trace.modules()[function.module as usize];
        PlannedFunction {
            module: module.path.clone(),
            build_id: module.build_id.clone(),
            offset: function.offset,
            symbol: function.symbol.clone(),
            to,
            mode: Mode::Enter,
        }
    };
    Plan {
        version: VERSION_BY_ARGUMENT,
        machine: machine.into(),
        trace: trace_name.into(),
        cores: 2,
        seed,
        request: request(trace),
        expected: held_out.map(|held_out| Expected {
            hops_per_request: held_out.hops as f64 / held_out.requests as f64,
            searched: comparison(&found.searched),
            held_out: comparison(held_out),
        }),
        functions: vec![
            planned(found.request, Destination::Core(0)),
            planned(found.choice.function, Destination::At(call)),
        ],
    }
}
