//! The search's outcome as one JSON object.

use super::{Report, doubts, returns, text};
use crate::line::Lines;
use corehop_partitioner::Comparison;
use corehop_partitioner::weights::Weighted;
use corehop_plans::Plan;
use serde_json::{Value, json};

/// One object on one line, with a newline.
pub fn render(report: &Report<'_>, plan: &Plan) -> Lines {
    let outcome = report.outcome;
    let ranking = &outcome.ranking;
    let candidates = &outcome.candidates;
    let held_out = outcome.evaluated.held_out.as_ref();
    let hops = held_out.unwrap_or(&outcome.evaluated.searched);
    let mut object = json!({
        "machine": plan.machine,
        "trace": plan.trace,
        "cores": plan.cores,
        "seed": plan.seed,
        "candidates": candidates.chosen.len(),
        "groups": candidates.groups,
        "unpatchable": candidates.unpatchable.len(),
        "strategy": ranking.strategy,
        "why_this_strategy": ranking.why,
        "splits_evaluated": ranking.evaluated,
        "stopped": ranking.stopped,
        "proven_optimal": ranking.is_optimal(),
        "gap_percent": ranking.gap().map(|gap| gap * 100.0),
        "better_share": ranking.better_share,
        "sets_replayed": outcome.sets_replayed,
        "seconds": report.seconds,
        "verdict": text::verdict(report),
        "searched": comparison(&outcome.evaluated.searched),
        "held_out": held_out.map(comparison),
        "hops_per_request": hops.hops as f64 / hops.requests as f64,
        "shared_cache_changed_rank": outcome.evaluated.shared_cache_changed_rank,
        "returns": returns::value(report),
        "machines": machines(report),
        "plan": plan.functions,
        "request": plan.request,
    });
    for (key, value) in doubts::keys(report) {
        object[key] = value;
    }
    Lines::of_json(&object)
}

/// A comparison as the keys of each of its sides.
pub fn comparison(comparison: &Comparison) -> Value {
    json!({
        "requests": comparison.requests,
        "baseline": comparison.baseline,
        "split": comparison.split,
    })
}

/// What several machines say, each by itself; empty where there is one.
fn machines(report: &Report<'_>) -> Vec<Value> {
    let judged = &report.outcome.evaluated;
    let (objective, searched) = (report.settings.objective, judged.searched.of_machines());
    let of_machine = |(index, (of, searched)): (usize, (&Weighted, &Comparison))| {
        let held_out = judged.held_out.as_ref();
        let held_out = held_out.and_then(|held_out| held_out.of_machines().nth(index));
        let hops = held_out.unwrap_or(searched);
        json!({
            "machine": of.machine.name,
            "weight": of.weight,
            "ratio": held_out.and_then(|held_out| held_out.ratio_here(objective)),
            "searched": comparison(searched),
            "held_out": held_out.map(comparison),
            "hop_cost_cycles": of.machine.hop_cost_cycles,
            "break_even_hop_cycles": hops.break_even_cycles(&of.machine),
        })
    };
    match report.machines {
        [_] => Vec::new(),
        several => several
            .iter()
            .zip(searched)
            .enumerate()
            .map(of_machine)
            .collect(),
    }
}
