//! The result for programs, as one object; `text` says the same to people.

use super::result::Report;
use corehop_measurer::Sample;
use corehop_measurer::rounds::{CONFIDENCE, Round};
use serde_json::{Value, json};

/// The object.
pub fn render(report: &Report<'_>) -> Value {
    let arguments = report.arguments;
    let of = |side: fn(&Round) -> &Sample| -> Value {
        let samples = report.rounds.all().iter().map(side);
        samples.map(|sample| sample.throughput).collect()
    };
    let comparison = &report.comparison;
    let words: Vec<String> = arguments
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    json!({
        "plan": arguments.plan,
        "system_calls": arguments.system_calls,
        "command": words,
        "rounds": report.rounds.all().len(),
        "original": of(|round| &round.original),
        "patched": of(|round| &round.patched),
        "ratio": comparison.ratio,
        "interval": [comparison.low, comparison.high],
        "confidence": CONFIDENCE,
        "resolution_percent": comparison.resolution_percent(),
        "verdict": comparison.verdict(),
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
