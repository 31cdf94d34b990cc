//! Reports the functions of a plan whose core depends on an argument: how many of their calls the
//! replay could place, and how many objects these calls use.

use crate::terminal::line::{Lines, line};
use corehop_simulator::{ByArgument, Split};
use corehop_support::format::name::shortened;
use corehop_support::format::number::grouped;
use corehop_traces::Trace;

/// Adds one row per function, or nothing if the plan has no such function.
pub fn add(text: &mut Lines, split: &Split, trace: &Trace) {
    let Some(objects) = split.objects() else {
        return;
    };
    line!(text);
    line!(
        text,
        "{:<26}{:>16}{:>16}{:>16}{:>16}",
        "by argument, in the trace",
        "calls",
        "known",
        "early",
        "objects"
    );
    for one in objects.functions() {
        let ByArgument {
            calls,
            known,
            early,
            objects,
            ..
        } = *one;
        let name = shortened(&trace.functions()[one.function.index()].name);
        line!(
            text,
            "  {:<24}{:>16}{:>16}{:>16}{:>16}",
            format!("{} of {name}", one.by.argument.number()),
            grouped(calls),
            grouped(known),
            grouped(early),
            grouped(objects)
        );
    }
    let unknown = |one: &ByArgument| one.calls - one.known;
    let unknown: u64 = objects.functions().iter().map(unknown).sum();
    if unknown > 0 {
        line!(
            text,
            "{} calls whose argument the trace does not tell were left where they were.",
            grouped(unknown)
        );
    }
}
