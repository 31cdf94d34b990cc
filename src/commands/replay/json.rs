//! The counts of a replay as JSON, with the keys that `corehop schema replay --keys` lists.

use super::counted::{Counted, Report};
use super::detail::{self, Summary};
use super::{modes, translation};
use corehop_partitioner::attribution::{by_argument, mark};
use corehop_simulator::Split;
use corehop_support::format::path::lossy;
use corehop_traces::Trace;
use serde_json::{Value, json};

/// Returns one object for one machine, and an array of them for several.
pub fn render(
    report: &Report<'_>,
    (trace, split): (&Trace, &Split),
    told: Option<&Summary>,
) -> Value {
    let by_argument = by_argument(split, trace);
    let object = |counted| {
        let mut object = object(report, counted);
        mark(&mut object, trace);
        if !by_argument.is_empty() {
            object["by_argument"] = by_argument.clone().into();
        }
        object
    };
    let mut objects: Vec<Value> = report.counted.iter().map(object).collect();
    if objects.len() > 1 {
        return objects.into();
    }
    let mut object = objects.remove(0);
    for (key, value) in told.iter().flat_map(|told| detail::keys(trace, told)) {
        object[key] = value;
    }
    object
}

fn object(report: &Report<'_>, counted: &Counted<'_>) -> Value {
    let replay = counted.asked();
    let baseline = report.baseline.name();
    let mut object = json!({
        "machine": counted.machine.name,
        "trace": lossy(report.trace),
        "placement": if counted.plan.is_some() { "plan" } else { &baseline },
        "cores": replay.per_core.len(),
        "accesses": replay.accesses,
        "hops": replay.hops,
        "counters": replay.counters,
    });
    if counted.plan.is_some() {
        object["baseline"] = json!({
            "placement": baseline,
            "cores": counted.baseline.per_core.len(),
            "counters": counted.baseline.counters,
        });
    }
    if let Some(tlbs) = translation::value(replay) {
        object["tlb"] = tlbs;
    }
    if counted.plan.is_some()
        && let Some(tlbs) = translation::value(&counted.baseline)
    {
        object["baseline"]["tlb"] = tlbs;
    }
    if let Some(told) = &counted.modes {
        object["modes"] = modes::value(told);
    }
    object
}
