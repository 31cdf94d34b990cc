//! The results of timed replays of the finalists in a search for throughput, or why there are none.

use super::finished_search::FinishedSearch;
use corehop_partitioner::finalists::Finals;
use corehop_partitioner::held_out::Ranked;
use corehop_partitioner::objective::Objective;
use corehop_support::format::number::{change, counted};
use serde_json::{Value, json};

fn finals<'s>(search: &FinishedSearch<'s>) -> &'s Finals {
    &search.result.outcome.evaluated.finals
}

/// Returns the number of splits that were replayed with clocks.
fn finalists(search: &FinishedSearch<'_>) -> usize {
    let ranked = search.result.outcome.evaluated.ranked.iter();
    ranked.filter(|ranked| ranked.timed.is_some()).count()
}

/// Returns the counted requests per million of these cycles.
fn rate(search: &FinishedSearch<'_>, elapsed_cycles: &[u64]) -> Option<f64> {
    let Finals::Replayed { requests, .. } = finals(search) else {
        return None;
    };
    let cycles = (*elapsed_cycles.first()?).max(1);
    Some(*requests as f64 * 1e6 / cycles as f64)
}

/// Returns the requests per million cycles with a split of the ranking, on the first machine;
/// `None` if it was no finalist.
pub fn throughput(search: &FinishedSearch<'_>, ranked: &Ranked) -> Option<f64> {
    rate(search, &ranked.timed.as_ref()?.elapsed_cycles)
}

/// Returns the same without a split.
fn baseline(search: &FinishedSearch<'_>) -> Option<f64> {
    match finals(search) {
        Finals::Replayed {
            baseline_cycles, ..
        } => rate(search, baseline_cycles),
        _ => None,
    }
}

/// Returns how the first of the order were ordered, to append to the order.
pub fn order(search: &FinishedSearch<'_>) -> String {
    match finalists(search) {
        0 => String::new(),
        1 => ", the first by a timed replay".into(),
        several => format!(", the first {several} by timed replays"),
    }
}

/// Returns one line of the result.
pub fn line(search: &FinishedSearch<'_>) -> Option<String> {
    let Objective::Throughput { connections } = search.result.settings.objective else {
        return None;
    };
    let asked = counted(connections.into(), "connection", "connections");
    let judged = &search.result.outcome.evaluated;
    match *finals(search) {
        Finals::NotAsked => None,
        Finals::TooManyConnections { most } => Some(format!(
            "no: {asked} exceed the {most} of a timed replay; the best by formulas is used"
        )),
        Finals::TooFewConnections { available } => {
            let available = counted(available as u64, "connection", "connections");
            Some(format!(
                "no: the requests that are not held out are of {available}, but {asked} were \
                 requested; the best by formulas is used. Use fewer --connections, record more, or \
                 repeat them with --repeat-connections: on one stack and the same data"
            ))
        }
        Finals::Replayed { available, .. } => {
            let taken = &judged.ranked[judged.order[0]];
            let (split, free) = (throughput(search, taken)?, baseline(search)?);
            let repeated = match (connections as usize) > available {
                true => format!(" (those of {available} repeated)"),
                false => String::new(),
            };
            let finalists = counted(finalists(search) as u64, "finalist", "finalists");
            Some(format!(
                "{split:.2} requests in a million cycles of {asked}{repeated}, the best of \
                 {finalists}; {} with a split, {free:.2} without",
                change(split / free)
            ))
        }
    }
}

/// Returns the same as JSON.
pub fn value(search: &FinishedSearch<'_>) -> Value {
    let judged = &search.result.outcome.evaluated;
    let taken = || throughput(search, &judged.ranked[judged.order[0]]);
    match *finals(search) {
        Finals::NotAsked => Value::Null,
        Finals::TooManyConnections { most } => json!({
            "replayed": false,
            "most_connections": most,
        }),
        Finals::TooFewConnections { available } => json!({
            "replayed": false,
            "connections_in_trace": available,
        }),
        Finals::Replayed {
            available,
            requests,
            ..
        } => json!({
            "replayed": true,
            "connections_in_trace": available,
            "requests": requests,
            "finalists": finalists(search),
            "split_requests_per_million_cycles": taken(),
            "baseline_requests_per_million_cycles": baseline(search),
        }),
    }
}
