//! The search's outcome as one JSON object.

use super::finished_search::FinishedSearch;
use super::{backends, comparison, delegated, doubts, returns, text};
use crate::options::carriers;
use crate::terminal::line::Lines;
use corehop_partitioner::Comparison;
use corehop_partitioner::attribution::mark;
use corehop_partitioner::backend::Backend;
use corehop_partitioner::weights::Weighted;
use corehop_plan::Plan;
use serde_json::{Value, json};

/// Returns one object on one line, with a newline.
pub fn render(search: &FinishedSearch<'_>, plan: &Plan) -> Lines {
    let outcome = search.result.outcome;
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
        "seconds": search.seconds,
        "verdict": text::verdict(search),
        "backend": search.backend.map(Backend::name),
        "cycles_ratio": backends::value(&backends::cycles(search)),
        "searched": comparison::value(&outcome.evaluated.searched),
        "held_out": held_out.map(comparison::value),
        "hops_per_request": hops.hops as f64 / hops.requests as f64,
        "shared_cache_changed_rank": outcome.evaluated.shared_cache_changed_rank,
        "returns": returns::value(search),
        "delegated": delegated::value(search),
        "machines": machines(search),
        "plan": plan.functions,
        "request": plan.request,
        "carriers": carriers::value(&carriers::of_trace(search.result.trace)),
    });
    mark(&mut object, search.result.trace);
    for (key, value) in doubts::keys(search) {
        object[key] = value;
    }
    Lines::of_json(&object)
}

/// Returns the result for each of several machines; empty for one.
fn machines(search: &FinishedSearch<'_>) -> Vec<Value> {
    let judged = &search.result.outcome.evaluated;
    let (objective, searched) = (
        search.result.settings.objective,
        judged.searched.of_machines(),
    );
    let of_machine = |(index, (of, searched)): (usize, (&Weighted, &Comparison))| {
        let held_out = judged.held_out.as_ref();
        let held_out = held_out.and_then(|held_out| held_out.of_machines().nth(index));
        let hops = held_out.unwrap_or(searched);
        json!({
            "machine": of.machine.name,
            "weight": of.weight,
            "ratio": held_out.and_then(|held_out| held_out.ratio_here(objective)),
            "searched": comparison::value(searched),
            "held_out": held_out.map(comparison::value),
            "hop_cost_cycles": of.machine.hop_cost_cycles,
            "break_even_hop_cycles": hops.break_even_cycles(&of.machine),
        })
    };
    match search.result.machines {
        [_] => Vec::new(),
        several => several
            .iter()
            .zip(searched)
            .enumerate()
            .map(of_machine)
            .collect(),
    }
}
