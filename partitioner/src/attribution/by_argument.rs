//! JSON about a plan's functions that use an argument: the number of calls with a known argument,
//! and the number of distinct objects.

use corehop_plan::Argument;
use corehop_simulator::{ByArgument, Split};
use corehop_traces::{FunctionId, Trace};
use serde_json::{Value, json};

/// Returns one JSON object for each function by argument; empty if the plan has none.
#[must_use]
pub fn by_argument(split: &Split, trace: &Trace) -> Vec<Value> {
    let functions = split.objects().map(|objects| objects.functions());
    let functions = functions.unwrap_or_default().iter();
    let value = |one: &ByArgument| {
        let counts = [one.calls, one.known, one.objects];
        let mut value = called(trace, (one.function, one.by.argument), counts);
        value["after"] = one.by.after.into();
        value["early"] = one.early.into();
        value
    };
    functions.map(value).collect()
}

/// Returns the keys of one function that uses, or could use, an argument: its identity, its number
/// of calls, the calls with a known argument, and the number of distinct objects.
#[must_use]
pub fn called(
    trace: &Trace,
    (function, argument): (FunctionId, Argument),
    [calls, known, objects]: [u64; 3],
) -> Value {
    let function = &trace.functions()[function.index()];
    json!({
        "name": function.name,
        "symbol": function.symbol,
        "module": trace.modules()[function.module as usize].path,
        "offset": function.offset,
        "argument": argument.number(),
        "calls": calls,
        "known": known,
        "objects": objects,
    })
}
