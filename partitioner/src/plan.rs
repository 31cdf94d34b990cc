//! Converts the outcome of a search to a plan.
//!
//! A search identifies functions by their numbers in the trace. A plan must outlive the trace, so
//! it identifies each function by its module's build id and its offset in the module.

use crate::carriers::refusal;
use crate::request_function::request;
use crate::weights::Weighted;
use crate::{Comparison, Outcome, Settings, machine_list};
use corehop_plan::{
    Destination, Expected, KthCall, Mode, Plan, PlannedFunction, VERSION, VERSION_BY_ARGUMENT,
};
use corehop_simulator::CoreId;
use corehop_traces::{FunctionId, Trace};

/// Input and outcome of a search.
pub struct SearchResult<'a> {
    /// The machines that the search simulated.
    pub machines: &'a [Weighted],
    /// Name of the trace.
    pub trace_name: &'a str,
    /// The searched trace.
    pub trace: &'a Trace,
    /// The parameters of the search.
    pub settings: &'a Settings<'a>,
    /// The outcome of the search.
    pub outcome: &'a Outcome,
}

/// Returns the plan of the split found.
pub fn of(found: &SearchResult<'_>) -> Plan {
    let judged = &found.outcome.evaluated;
    let split = found.outcome.split.iter();
    let functions: Vec<PlannedFunction> = split.map(|&placed| of_split(found, placed)).collect();
    let is_older = functions
        .iter()
        .all(|function| function.to.core().is_some());
    Plan {
        version: match is_older {
            true => VERSION,
            false => VERSION_BY_ARGUMENT,
        },
        machine: machine_list::together(found.machines),
        trace: found.trace_name.into(),
        cores: found.settings.cores,
        seed: found.settings.seed,
        carriers_refuse: refusal(found.trace),
        request: request(found.trace),
        expected: expected(&judged.searched, judged.held_out.as_ref()),
        functions,
    }
}

fn of_split(found: &SearchResult<'_>, (id, CoreId(core)): (FunctionId, CoreId)) -> PlannedFunction {
    let mode = match found.outcome.delegated.contains(&id) {
        true => Mode::Call,
        false => Mode::Enter,
    };
    match found.trace.call_meant(id) {
        Some((function, call)) => {
            let to = Destination::At(KthCall { core, call });
            planned(found.trace, function, (to, mode))
        }
        None => planned(found.trace, id, (Destination::Core(core), mode)),
    }
}

/// Converts a function of a trace to the form of plans.
pub(crate) fn planned(
    trace: &Trace,
    function: FunctionId,
    (to, mode): (Destination, Mode),
) -> PlannedFunction {
    let function = &trace.functions()[function.index()];
    let module = &trace.modules()[function.module as usize];
    PlannedFunction {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
        to,
        mode,
    }
}

/// Returns the expected values for a plan, evaluated on requests not searched, if there are any.
pub(crate) fn expected(searched: &Comparison, held_out: Option<&Comparison>) -> Option<Expected> {
    held_out.map(|held_out| Expected {
        hops_per_request: held_out.hops as f64 / held_out.requests as f64,
        searched: comparison(searched),
        held_out: comparison(held_out),
    })
}

fn comparison(comparison: &Comparison) -> corehop_plan::Comparison {
    let (before, after) = (&comparison.baseline.l2, &comparison.split.l2);
    corehop_plan::Comparison {
        requests: comparison.requests,
        baseline_fetch_misses: before.fetch_misses(),
        baseline_data_misses: before.data_misses(),
        split_fetch_misses: after.fetch_misses(),
        split_data_misses: after.data_misses(),
    }
}
