//! The plan that a search's outcome makes.
//!
//! A search knows functions by their numbers in the trace. A plan has to outlive the trace, so it
//! names each by its module's build id and the function's offset there.

use crate::weights::Weighted;
use crate::{Comparison, Outcome, Settings, machine_list};
use corehop_plans::{Destination, Expected, Mode, Plan, PlannedFunction, Request, VERSION};
use corehop_simulator::CoreId;
use corehop_traces::function_name::{ends_in, module_and_name};
use corehop_traces::{Function, FunctionId, Trace};
use std::path::Path;

/// What a search found, and what it was asked.
pub struct SearchResult<'a> {
    /// The machines that the search simulated.
    pub machines: &'a [Weighted],
    /// What people call the trace.
    pub trace_name: &'a str,
    /// The trace that was searched.
    pub trace: &'a Trace,
    /// What the search was asked.
    pub settings: &'a Settings<'a>,
    /// What it found.
    pub outcome: &'a Outcome,
}

/// The plan that carries out the split.
pub fn of(found: &SearchResult<'_>) -> Plan {
    let judged = &found.outcome.evaluated;
    let expected = judged.held_out.as_ref().map(|held_out| Expected {
        hops_per_request: held_out.hops as f64 / held_out.requests as f64,
        searched: comparison(&judged.searched),
        held_out: comparison(held_out),
    });
    Plan {
        version: VERSION,
        machine: machine_list::together(found.machines),
        trace: found.trace_name.into(),
        cores: found.settings.cores,
        seed: found.settings.seed,
        request: request(found.trace),
        expected,
        functions: found
            .outcome
            .split
            .iter()
            .map(|&placed| planned(found, placed))
            .collect(),
    }
}

/// The function at which the trace's requests begin, looked for as the recording did; `None` where
/// something else told, or where no one function of the trace bears the name.
pub(crate) fn request(trace: &Trace) -> Option<Request> {
    let text = trace.header().request_at.as_str();
    let modules = trace.modules();
    let file_name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    let is_in = |function: &Function, module: Option<&str>| {
        let path = &modules[function.module as usize].path;
        module.is_none_or(|module| file_name(module) == file_name(path))
    };
    let only = |is_match: &dyn Fn(&Function) -> bool| {
        let mut found = trace.functions().iter().filter(|f| is_match(f));
        found.next().filter(|_| found.next().is_none())
    };
    let function = match text.rsplit_once("+0x") {
        Some((module, offset)) => {
            let offset = u64::from_str_radix(offset, 16).ok()?;
            only(&|f| f.offset == offset && is_in(f, Some(module)))
        }
        None => {
            let (module, name) = match module_and_name(text) {
                Some((module, name)) => (Some(module), name),
                None => (None, text),
            };
            only(&|f| f.symbol == name && is_in(f, module))
                .or_else(|| only(&|f| f.name == name && is_in(f, module)))
                .or_else(|| only(&|f| ends_in(&f.name, name) && is_in(f, module)))
        }
    }?;
    let module = &modules[function.module as usize];
    Some(Request {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
    })
}

fn planned(found: &SearchResult<'_>, (id, CoreId(core)): (FunctionId, CoreId)) -> PlannedFunction {
    let function = &found.trace.functions()[id.index()];
    let module = &found.trace.modules()[function.module as usize];
    PlannedFunction {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
        to: Destination::Core(core),
        mode: match found.outcome.delegated.contains(&id) {
            true => Mode::Call,
            false => Mode::Enter,
        },
    }
}

pub(crate) fn comparison(comparison: &Comparison) -> corehop_plans::Comparison {
    let (before, after) = (&comparison.baseline.l2, &comparison.split.l2);
    corehop_plans::Comparison {
        requests: comparison.requests,
        baseline_fetch_misses: before.fetch_misses(),
        baseline_data_misses: before.data_misses(),
        split_fetch_misses: after.fetch_misses(),
        split_data_misses: after.data_misses(),
    }
}
