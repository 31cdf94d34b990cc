//! What is known, for programs, of a plan's functions that go by an argument: how many of their
//! calls the replay could place, and how many objects they are about.

use corehop_plan::Argument;
use corehop_simulator::{ByArgument, Split};
use corehop_traces::{FunctionId, Trace};
use serde_json::{Value, json};

/// An object of keys for each function; none where the plan has none.
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

/// The keys of one function that goes, or could go, by an argument: which it is, how many of its
/// calls there were, of how many the argument is known, and how many objects they are about.
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
