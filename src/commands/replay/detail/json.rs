//! The details of a replay, as keys for scripts; `corehop schema replay --keys` describes them.

use super::summary::Summary;
use corehop_simulator::detail::{CodeOwner, Spread, WorkingSet};
use corehop_traces::Trace;
use serde_json::{Map, Value, json};

/// Returns the keys that `--detail` adds to a replay's object.
pub fn keys(trace: &Trace, told: &Summary) -> Map<String, Value> {
    let detail = &told.detail;
    let is_translated = !told.replay.tlbs.is_empty();
    let functions = detail.functions.iter().map(|function| {
        let mut object = code(trace, function.owner);
        object["entries"] = function.cost.entries.into();
        object["counters"] = json!(function.cost.counters);
        if is_translated {
            object["tlb"] = json!(function.cost.tlbs);
        }
        object
    });
    let named = told.segments.names().iter().zip(&detail.segments);
    let segments = named.map(|(name, segment)| {
        let mut object =
            json!({ "name": name, "entries": segment.entries, "counters": segment.counters });
        if is_translated {
            object["tlb"] = json!(segment.tlbs);
        }
        object
    });
    let object = json!({
        "functions": functions.collect::<Vec<_>>(),
        "segments": segments.collect::<Vec<_>>(),
        "interference": detail.interference,
        "reuse_distance": detail.reuse_distances,
        "working_set": working_sets(&detail.working_sets),
    });
    match object {
        Value::Object(keys) => keys,
        _ => unreachable!("it is written as an object above"),
    }
}

fn code(trace: &Trace, owner: CodeOwner) -> Value {
    let module = |module: u32| &trace.modules()[module as usize].path;
    match owner {
        CodeOwner::Function(function) => {
            let function = &trace.functions()[function.index()];
            json!({
                "name": function.name,
                "symbol": function.symbol,
                "module": module(function.module),
                "offset": function.offset,
            })
        }
        CodeOwner::Module(number) => json!({ "name": null, "module": module(number) }),
        CodeOwner::Elsewhere => json!({ "name": null, "module": null }),
    }
}

fn working_sets(sets: &[WorkingSet]) -> Value {
    let requests = sets.iter().map(|set| {
        let mut object = json!(set);
        object["size_bytes"] = set.size_bytes().into();
        object
    });
    let spread = |lines: fn(&WorkingSet) -> u64| Spread::of(sets.iter().map(lines));
    json!({
        "requests": requests.collect::<Vec<_>>(),
        "code_lines": spread(|set| set.code_lines),
        "data_lines": spread(|set| set.data_lines),
        "lines": spread(|set| set.lines),
        "size_bytes": spread(WorkingSet::size_bytes),
    })
}
