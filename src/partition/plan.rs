//! The search's outcome as a plan.

use super::{Report, machines};
use corehop_partitioner::Comparison;
use corehop_plans::{Expected, Mode, Plan, PlannedFunction, VERSION};

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
        expected,
        functions: report
            .outcome
            .split
            .iter()
            .map(|&placed| planned(report, placed))
            .collect(),
    }
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
