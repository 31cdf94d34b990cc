//! Reports the effect of hops back, possible or selected, as text and as keys of the JSON object.
//!
//! Every function of the split is reported separately, because users edit a plan function by
//! function. The combined effect is that of the best combination, and only that is evaluated on
//! held-out requests.

use super::finished_search::FinishedSearch;
use corehop_partitioner::Comparison;
use corehop_partitioner::delegation::{Delegate, Delegation, Variant};
use corehop_simulator::Replay;
use corehop_support::format::name::shortened;
use corehop_support::format::number::{change, change_between};
use corehop_traces::FunctionId;
use serde_json::{Value, json};

/// Returns labeled lines of the result.
pub fn lines(search: &FinishedSearch<'_>) -> Vec<(&'static str, String)> {
    let Some(found) = &search.result.outcome.delegation else {
        return Vec::new();
    };
    let mut lines: Vec<(&str, String)> = Vec::new();
    for variant in &found.alone {
        let label = if lines.is_empty() { "returns" } else { "" };
        lines.push((label, of_variant(search, found, variant)));
    }
    for (function, reason) in one_way(search) {
        let label = if lines.is_empty() { "returns" } else { "" };
        let name = names(search, &[*function]);
        lines.push((label, format!("never back after {name}: {reason}")));
    }
    lines.push(("", best(search, found)));
    lines
}

/// Returns the functions of the split after which no thread can migrate back.
fn one_way<'a>(search: &'a FinishedSearch<'_>) -> impl Iterator<Item = &'a (FunctionId, String)> {
    let split = &search.result.outcome.split;
    let is_chosen = |function: FunctionId| split.iter().any(|placed| placed.0 == function);
    search
        .one_way
        .iter()
        .filter(move |(function, _)| is_chosen(*function))
}

/// Compares one combination with the split as the search found it, on the searched requests.
fn of_variant(search: &FinishedSearch<'_>, found: &Delegation, variant: &Variant) -> String {
    let objective = search.result.settings.objective;
    let requests = (found.as_found.replay.requests.max(1) * found.rounds as u64) as f64;
    let [before, after] = [&found.as_found.replay, &variant.replay];
    let value = |replay: &Replay| objective.of(replay);
    let mut said = format!(
        "back after {}: {} {}",
        names(search, &variant.delegated),
        change_between(value(before), value(after)),
        objective.name(),
    );
    let misses = |replay: &Replay| replay.counters.l2.misses();
    let cycles = |replay: &Replay| replay.counters.cycles;
    if value(before) != misses(before) {
        said += &format!(
            ", {} L2 misses",
            change_between(misses(before), misses(after))
        );
    }
    said += &format!(
        ", {} cycles, {:.2} hops a request (as it is {:.2})",
        change_between(cycles(before), cycles(after)),
        after.hops as f64 / requests,
        before.hops as f64 / requests,
    );
    said
}

fn best(search: &FinishedSearch<'_>, found: &Delegation) -> String {
    let tried = format!("best of {} combinations", found.tried);
    if !found.pays() {
        return format!("{tried}, on searched requests: no hops back");
    }
    let objective = search.result.settings.objective;
    let said = match &found.best.delegated[..] {
        [_] => format!("{tried}, on searched requests: that one"),
        _ => format!("{tried}: {}", of_variant(search, found, &found.best)),
    };
    let ratio = found.held_out.as_ref().and_then(|of| of.ratio(objective));
    let judged = ratio.map(|ratio| {
        let name = objective.name();
        format!("; with it {} {name} on held-out requests", change(ratio))
    });
    let taken = match search.result.settings.delegate {
        Delegate::Take => "; used",
        Delegate::Never | Delegate::Tell => "; --returns auto uses it",
    };
    format!("{said}{}{taken}", judged.unwrap_or_default())
}

fn names(search: &FinishedSearch<'_>, functions: &[FunctionId]) -> String {
    let functions = functions
        .iter()
        .map(|&f| &search.result.trace.functions()[f.index()]);
    let names: Vec<String> = functions
        .map(|function| shortened(&function.name))
        .collect();
    names.join(" and ")
}

/// Returns the same as JSON; `null` if hops back were not searched.
pub fn value(search: &FinishedSearch<'_>) -> Value {
    let Some(found) = &search.result.outcome.delegation else {
        return Value::Null;
    };
    let variant = |variant: &Variant| {
        let functions = variant.delegated.iter();
        let symbol = |&f: &FunctionId| &*search.result.trace.functions()[f.index()].symbol;
        json!({
            "functions": functions.map(symbol).collect::<Vec<&str>>(),
            "counters": variant.replay.counters,
            "hops": variant.replay.hops,
        })
    };
    let one_way_value = |(function, reason): &(FunctionId, String)| {
        let symbol = &search.result.trace.functions()[function.index()].symbol;
        json!({ "function": symbol, "reason": reason })
    };
    let split =
        |of: &Comparison| json!({ "requests": of.requests, "counters": of.split, "hops": of.hops });
    json!({
        "rounds": found.rounds,
        "tried": found.tried,
        "one_way": one_way(search).map(one_way_value).collect::<Vec<_>>(),
        "as_found": variant(&found.as_found),
        "alone": found.alone.iter().map(variant).collect::<Vec<_>>(),
        "best": variant(&found.best),
        "best_held_out": found.held_out.as_ref().map(split),
        "taken": !search.result.outcome.delegated.is_empty(),
    })
}
