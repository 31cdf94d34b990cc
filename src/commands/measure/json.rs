//! The result as one JSON object; `text` prints the same for people.

use super::result::Report;
use corehop_measure::Sample;
use corehop_measure::rounds::{CONFIDENCE, Round};
use corehop_support::format::path::lossy;
use serde_json::{Value, json};

/// Returns the object.
pub fn render(report: &Report<'_>) -> Value {
    let arguments = report.arguments;
    let sides: [fn(&Round) -> &Sample; 2] = [|round| &round.original, |round| &round.patched];
    let of = |side: fn(&Round) -> &Sample, what: fn(&Sample) -> Option<f64>| -> Value {
        let samples = report.rounds.all().iter().map(side);
        samples.map(what).collect()
    };
    let throughput = sides.map(|side| of(side, |sample| Some(sample.throughput)));
    let latency = arguments.under.latency.as_ref().map(|_| {
        let [original, patched] = sides.map(|side| of(side, |sample| sample.latency));
        json!({"original": original, "patched": patched})
    });
    let comparison = &report.comparison;
    let words: Vec<String> = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    json!({
        "plan": arguments.plan.as_deref().map(lossy),
        "system_calls": arguments.system_calls,
        "command": words,
        "rounds": report.rounds.all().len(),
        "original": throughput[0],
        "patched": throughput[1],
        "latency": latency,
        "ratio": comparison.ratio,
        "interval": [comparison.low, comparison.high],
        "confidence": CONFIDENCE,
        "resolution_percent": comparison.resolution_percent(),
        "groups": report.rounds.groups(),
        "neighbors": report.rounds.neighbors(),
        "verdict": report.verdict(),
        "ended_early": report.rounds.why_cut_short().map(ToString::to_string),
        "required_gain_percent": arguments.require_gain,
        "is_met": arguments.require_gain.map(|percent| comparison.gains(percent)),
        "hops": report.rounds.hops(),
        "counters": counters(report),
        "predicted": report.predicted,
    })
}

fn counters(report: &Report<'_>) -> Value {
    let kinds = match &report.counters {
        Ok(kinds) => kinds,
        Err(reason) => return json!({"available": false, "reason": reason.to_string()}),
    };
    let counted = |name: &str| {
        let [original, patched] = report.rounds.per_operation(name);
        json!({"name": name, "original": original, "patched": patched})
    };
    let counted: Vec<Value> = kinds.iter().map(|kind| counted(kind.name)).collect();
    json!({"available": true, "per_operation": counted})
}
