//! The outcome as JSON.

use super::candidate::{Candidate, Contested};
use super::causes::Causes;
use super::outcome::Outcome;
use crate::options::carriers;
use corehop_measure::rounds::CONFIDENCE;
use corehop_support::format::path::lossy;
use serde_json::{Value, json};

/// Returns the outcome as one object.
pub fn render(outcome: &Outcome<'_>) -> Value {
    let contested = outcome.contested.as_ref();
    let measured = contested.map(|contested| &contested.measured);
    let comparison = measured.map(|measured| measured.comparison);
    let gain = outcome.gain().map(|(pays, _)| pays);
    let (plan, calls) = match gain {
        Some(Candidate::Plan(_)) => (Some(()), None),
        Some(Candidate::SystemCalls(calls)) => (None, Some(calls)),
        None => (None, None),
    };
    let rounds = |side: usize| -> Option<Vec<f64>> {
        let rounds = measured?.rounds.all().iter();
        Some(rounds.map(|round| round.throughput()[side]).collect())
    };
    let candidates = outcome.candidates;
    let tried = candidates.all.iter().enumerate();
    json!({
        "gain": gain.is_some(),
        "answer": outcome.answer(),
        "smallest_gain_percent": outcome.arguments.smallest_gain,
        "measuring_seconds": measured.map(|of| of.seconds),
        "ended_early": measured.and_then(|of| of.why_cut_short()).map(ToString::to_string),
        "expected": outcome.expected().map(|(own_share, speedup)| json!({
            "own_code_share": own_share,
            "low": speedup.low,
            "median": speedup.median,
            "high": speedup.high,
        })),
        "ratio": comparison.map(|of| of.ratio),
        "interval": comparison.map(|of| [of.low, of.high]),
        "confidence": CONFIDENCE,
        "why_not": outcome.why_not(),
        "causes": outcome.causes.as_ref().map(Causes::json),
        "plan": plan.map(|()| lossy(&outcome.folder.plan())),
        "report": plan.map(|()| lossy(&outcome.folder.report())),
        "system_calls": calls,
        "system_calls_untried": candidates.untried,
        "start": gain.map(|_| lossy(&outcome.folder.start())),
        "command": outcome.command(),
        "carriers": carriers::value(&outcome.carriers),
        "trace": lossy(outcome.trace),
        "machine": outcome.here.machine.name,
        "hop_cost_cycles": outcome.here.machine.hop_cost_cycles,
        "original": rounds(0),
        "patched": rounds(1),
        "groups": measured.and_then(|measured| measured.rounds.groups()),
        "neighbors": outcome.neighbors(),
        "chosen_by": measured.map(|measured| measured.decision),
        "best": contested.map(Contested::best).or(outcome.page()),
        "hops": measured.and_then(|measured| measured.hops.as_ref()),
        "tried": tried.map(|(at, of)| candidate(outcome, at, of)).collect::<Value>(),
    })
}

fn candidate(outcome: &Outcome<'_>, at: usize, candidate: &Candidate) -> Value {
    let contested = outcome.contested.as_ref();
    let raced = contested.and_then(|contested| contested.raced(at));
    let raced = raced.map(|of| {
        let compared = of.comparison;
        let interval = [compared.low, compared.high];
        json!({"ratio": compared.ratio, "interval": interval, "rounds": of.rounds})
    });
    match candidate {
        Candidate::Plan(predicted) => json!({
            "plan": lossy(&outcome.folder.tried(at)),
            "cores": predicted.plan.cores,
            "functions": predicted.plan.functions,
            "predicted": {
                "l2_misses_ratio": predicted.l2_misses_ratio,
                "cycles_ratio": predicted.cycles_ratio,
                "hops_per_request": predicted.hops_per_request,
                "speedup": predicted.speedup,
            },
            "system_calls": null,
            "raced": raced,
        }),
        Candidate::SystemCalls(calls) => json!({
            "plan": null,
            "cores": null,
            "functions": null,
            "predicted": null,
            "system_calls": calls,
            "raced": raced,
        }),
    }
}
