//! The search's outcome as a plan.

use super::{Report, machines};
use corehop_partitioner::Comparison;
use corehop_plans::{Expected, Mode, Plan, PlannedFunction, Request, VERSION};
use corehop_traces::Function;
use std::path::Path;

/// The plan that carries out the split.
pub fn of(report: &Report<'_>) -> Plan {
    let judged = &report.outcome.judged;
    let expected = judged.held_out.as_ref().map(|held_out| Expected {
        hops_per_request: held_out.hops as f64 / held_out.requests as f64,
        searched: comparison(&judged.searched),
        held_out: comparison(held_out),
    });
    Plan {
        version: VERSION,
        machine: machines::together(report.machines),
        trace: report.trace_name.into(),
        cores: report.settings.cores,
        seed: report.settings.seed,
        request: request(report),
        expected,
        functions: report
            .outcome
            .split
            .iter()
            .map(|&placed| planned(report, placed))
            .collect(),
    }
}

/// The function at which the trace's requests begin; `None` where something else told, or where the
/// name is not that of exactly one function.
fn request(report: &Report<'_>) -> Option<Request> {
    let text = report.trace.header().request_at.as_str();
    let (module, name) = match text.rsplit_once("+0x") {
        Some((module, _)) => (Some(module), None),
        None => match text.split_once(':') {
            Some((module, name)) if !name.starts_with(':') => (Some(module), Some(name)),
            _ => (None, Some(text)),
        },
    };
    let offset = text.rsplit_once("+0x").map(|(_, offset)| offset);
    let offset = offset.and_then(|offset| u64::from_str_radix(offset, 16).ok());
    let modules = report.trace.modules();
    let file_name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    let is_it = |function: &&Function| {
        let path = &modules[function.module as usize].path;
        let last_part = format!("::{}", name.unwrap_or_default());
        let is_named = name.is_none_or(|name| {
            function.symbol == name || function.name == name || function.name.ends_with(&last_part)
        });
        is_named
            && offset.is_none_or(|offset| function.offset == offset)
            && module.is_none_or(|module| file_name(module) == file_name(path))
    };
    let mut found = report.trace.functions().iter().filter(is_it);
    let (function, other) = (found.next()?, found.next());
    let module = &modules[function.module as usize];
    other.is_none().then(|| Request {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
    })
}

fn planned(report: &Report<'_>, (function, core): (u32, u32)) -> PlannedFunction {
    let number = function;
    let function = &report.trace.functions()[function as usize];
    let module = &report.trace.modules()[function.module as usize];
    PlannedFunction {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        offset: function.offset,
        symbol: function.symbol.clone(),
        core,
        mode: match report.outcome.delegated.contains(&number) {
            true => Mode::Call,
            false => Mode::Enter,
        },
    }
}

fn comparison(comparison: &Comparison) -> corehop_plans::Comparison {
    let (before, after) = (&comparison.baseline.l2, &comparison.split.l2);
    corehop_plans::Comparison {
        requests: comparison.requests,
        baseline_fetch_misses: before.fetch_misses(),
        baseline_data_misses: before.data_misses(),
        split_fetch_misses: after.fetch_misses(),
        split_data_misses: after.data_misses(),
    }
}
