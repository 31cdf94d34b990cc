//! What is known, for programs, of a plan's functions that go by an argument: how many of their
//! calls the replay could place, and how many objects they are about.

use corehop_simulator::{ByArgument, Split};
use corehop_traces::Trace;
use serde_json::{Value, json};

/// An object of keys for each function; none where the plan has none.
#[must_use]
pub fn by_argument(split: &Split, trace: &Trace) -> Vec<Value> {
    let functions = split.objects().map(|objects| objects.functions());
    let functions = functions.unwrap_or_default().iter();
    let value = |one: &ByArgument| {
        let function = &trace.functions()[one.function.index()];
        json!({
            "name": function.name,
            "symbol": function.symbol,
            "module": trace.modules()[function.module as usize].path,
            "offset": function.offset,
            "argument": one.argument.number(),
            "calls": one.calls,
            "known": one.known,
            "objects": one.objects,
        })
    };
    functions.map(value).collect()
}
