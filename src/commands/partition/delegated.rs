//! The additional output of `corehop partition --delegate`, as text and as JSON.

use super::comparison;
use super::finished_search::FinishedSearch;
use super::looked_for::{candidates, looked_for};
use corehop_partitioner::candidates::Candidate;
use corehop_partitioner::delegated::{Added, Wanted};
use corehop_support::format::number::change;
use corehop_traces::FunctionId;
use serde_json::{Value, json};

fn wanted<'a>(search: &'a FinishedSearch<'_>) -> Option<&'a Wanted> {
    search.result.settings.delegated_calls.as_ref()
}

fn added<'a>(search: &'a FinishedSearch<'_>) -> Option<&'a Added> {
    search.result.outcome.added.as_ref()
}

/// Returns the subject of the first ranking: splits, or sets of calls.
pub fn name_of_splits(search: &FinishedSearch<'_>) -> &'static str {
    match (wanted(search), added(search)) {
        (Some(_), None) => "sets",
        _ => "splits",
    }
}

/// Returns lines about calls that were added to the split.
pub fn lines(search: &FinishedSearch<'_>) -> Vec<(&'static str, String)> {
    let (Some(added), Some(wanted)) = (added(search), wanted(search)) else {
        return Vec::new();
    };
    let objective = search.result.settings.objective;
    let mut lines = vec![("calls", candidates(&added.candidates, &wanted.rule))];
    let ranking = ("sets", &added.ranking);
    lines.extend(looked_for(ranking, objective, search.seconds));
    let proof = lines
        .pop()
        .map(|(_, proof)| format!("{proof} in addition to that split"));
    lines.extend(proof.map(|proof| ("", proof)));
    let alone = added.alone.verdict().ratio(objective);
    lines.extend(alone.map(|ratio| {
        let said = format!("{} {} without them", change(ratio), objective.name());
        ("", said)
    }));
    lines
}

/// Returns the candidates that a function of the plan was selected from.
pub fn chosen_from<'a>(search: &'a FinishedSearch<'_>, function: FunctionId) -> &'a [Candidate] {
    let outcome = search.result.outcome;
    match &outcome.added {
        Some(added) if outcome.delegated.contains(&function) => &added.candidates.chosen,
        _ => &outcome.candidates.chosen,
    }
}

/// Formats `in 97 %`, with the number of calls if there may be several.
pub fn share(search: &FinishedSearch<'_>, candidate: &Candidate) -> String {
    let share = format!("in {:.0} %", candidate.called.share * 100.0);
    match wanted(search) {
        Some(_) if candidate.called.most > 1 => {
            format!("at most {} times a request, {share}", candidate.called.most)
        }
        _ => share,
    }
}

/// Returns the same as JSON; `null` if the search was not for calls.
pub fn value(search: &FinishedSearch<'_>) -> Value {
    let Some(wanted) = wanted(search) else {
        return Value::Null;
    };
    let outcome = search.result.outcome;
    let symbol = |f: &FunctionId| &*search.result.trace.functions()[f.index()].symbol;
    let added = added(search);
    let ranking = added.map_or(&outcome.ranking, |added| &added.ranking);
    let candidates = added.map_or(&outcome.candidates, |added| &added.candidates);
    json!({
        "most": wanted.functions,
        "max_calls": wanted.rule.max_calls,
        "candidates": candidates.chosen.len(),
        "functions": outcome.delegated.iter().map(symbol).collect::<Vec<&str>>(),
        "strategy": ranking.strategy,
        "why_this_strategy": ranking.why,
        "sets_evaluated": ranking.evaluated,
        "stopped": ranking.stopped,
        "proven_optimal": ranking.is_optimal(),
        "gap_percent": ranking.gap().map(|gap| gap * 100.0),
        "held_out_without": added.map(|added| comparison::value(added.alone.verdict())),
    })
}
