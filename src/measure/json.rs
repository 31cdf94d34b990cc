//! The result for programs, as one object; `text` says the same to people.

use super::Report;
use super::trial::Sample;
use crate::counters::Count;
use serde_json::{Value, json};

/// The object.
pub fn render(report: &Report<'_>) -> Value {
    let arguments = report.arguments;
    let of = |side: fn(&(Sample, Sample)) -> &Sample| -> Value {
        let samples = report.rounds.iter().map(side);
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
        "command": words,
        "rounds": arguments.rounds,
        "original": of(|(original, _)| original),
        "patched": of(|(_, patched)| patched),
        "ratio": comparison.ratio,
        "interval": [comparison.low, comparison.high],
        "confidence": super::interval::CONFIDENCE,
        "resolution_percent": comparison.resolution_percent(),
        "verdict": comparison.verdict(),
        "required_gain_percent": arguments.require_gain,
        "is_met": arguments.require_gain.map(|percent| comparison.gains(percent)),
        "hops": hops(report),
        "counters": counters(report),
        "predicted": report.predicted,
    })
}

fn hops(report: &Report<'_>) -> Value {
    let Some(told) = report.hops() else {
        return Value::Null;
    };
    json!({
        "backend": told.backend,
        "hops": told.hops,
        "failed_hops": told.failed_hops,
        "hop_ns": told.hop_ns,
    })
}

fn counters(report: &Report<'_>) -> Value {
    let kinds = match &report.counters {
        Ok(kinds) => kinds,
        Err(reason) => return json!({"available": false, "reason": reason}),
    };
    let counted = |name: &str| {
        let [original, patched] = per_operation(report, name);
        json!({"name": name, "original": original, "patched": patched})
    };
    let counted: Vec<Value> = kinds.iter().map(|kind| counted(kind.name)).collect();
    json!({"available": true, "per_operation": counted})
}

/// Medians of both sides: how often it happened in the time in which throughput grows by one.
pub fn per_operation(report: &Report<'_>, name: &str) -> [f64; 2] {
    report.medians(|sample| {
        let named = |count: &&Count| count.name == name;
        let count = sample
            .counts
            .iter()
            .find(named)
            .map_or(0.0, |count| count.count);
        count / (sample.throughput * sample.seconds)
    })
}
