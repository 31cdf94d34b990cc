//! `corehop candidates --by-argument`: lists functions with an argument that points to an object.
//! Each object could have its own core.

use crate::failure::Failure;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::Bar;
use corehop_partitioner::attribution::called;
use corehop_partitioner::by_argument::{
    MOST_CALLS, ObjectArgument, ObjectArguments, object_arguments,
};
use corehop_support::format::name::shortened;
use corehop_support::format::number::{counted, grouped, share};
use corehop_traces::Trace;
use serde_json::{Value, json};

/// Maximum number of rejected arguments to list.
const MOST_NAMED: usize = 5;

/// Renders the candidates of a trace.
pub fn told(trace: &Trace, name: &str, min_share: f64, as_json: bool) -> Result<Lines, Failure> {
    let bar = Bar::new();
    let found = object_arguments(trace, min_share, &bar)?;
    Ok(match as_json {
        true => Lines::of_json(&json_of(trace, name, min_share, &found)),
        false => text_of(trace, name, min_share, &found),
    })
}

fn text_of(trace: &Trace, name: &str, min_share: f64, found: &ObjectArguments) -> Lines {
    let mut text = Lines::new();
    let requests = counted(found.requests, "request", "requests");
    line!(text, "{name}: arguments counted over {requests}");
    line!(
        text,
        "left out: {} functions called more than {MOST_CALLS} times a request, {} in less than \
         {} % of them, {} that cannot be patched",
        grouped(found.called_too_often as u64),
        grouped(found.called_too_rarely as u64),
        min_share * 100.0,
        grouped(found.unpatchable as u64)
    );
    line!(
        text,
        "of {} more no argument is known to be one of several objects",
        grouped(found.without_objects as u64)
    );
    if !found.renewed.is_empty() {
        line!(
            text,
            "left out: {}, whose objects each request creates",
            renewed(trace, &found.renewed)
        );
    }
    line!(text);
    line!(
        text,
        "{:>8}{:>9}{:>8}{:>9}{:>10}{:>8}{:>8}  argument of",
        "known",
        "objects",
        "calls",
        "changes",
        "accesses",
        "lines",
        "again",
    );
    for one in &found.all {
        let called = shortened(&trace.functions()[one.function.index()].name);
        line!(
            text,
            "{:>8}{:>9}{:>8.2}{:>9}{:>10}{:>8}{:>8}  {} of {called}",
            share(one.known, one.calls, 1),
            grouped(one.objects),
            one.calls as f64 / found.requests as f64,
            share(one.changes, one.known, 1),
            grouped(one.accesses / one.calls),
            grouped(one.lines / one.calls),
            again(one),
            one.argument.number(),
        );
    }
    text
}

/// Lists the first rejected arguments, and the number of remaining ones.
fn renewed(trace: &Trace, all: &[ObjectArgument]) -> String {
    let shown = all.iter().take(MOST_NAMED).map(|one| {
        let name = shortened(&trace.functions()[one.function.index()].name);
        format!("argument {} of {name}", one.argument.number())
    });
    let mut shown: Vec<String> = shown.collect();
    if all.len() > MOST_NAMED {
        shown.push(format!("and {} more", all.len() - MOST_NAMED));
    }
    shown.join(", ")
}

fn again(one: &ObjectArgument) -> String {
    match one.lines_returned_to {
        0 => "-".into(),
        returned_to => share(one.lines_again, returned_to, 1),
    }
}

fn json_of(trace: &Trace, name: &str, min_share: f64, found: &ObjectArguments) -> Value {
    let arguments = found.all.iter().map(|one| {
        let counts = [one.calls, one.known, one.objects];
        let mut object = called(trace, (one.function, one.argument), counts);
        for (key, count) in [
            ("changes", one.changes),
            ("accesses", one.accesses),
            ("lines", one.lines),
            ("lines_returned_to", one.lines_returned_to),
            ("lines_again", one.lines_again),
        ] {
            object[key] = count.into();
        }
        object
    });
    let renewed = found.renewed.iter().map(|one| {
        let counts = [one.calls, one.known, one.objects];
        called(trace, (one.function, one.argument), counts)
    });
    json!({
        "trace": name,
        "requests": found.requests,
        "min_share": min_share,
        "called_too_often": found.called_too_often,
        "called_too_rarely": found.called_too_rarely,
        "unpatchable": found.unpatchable,
        "without_objects": found.without_objects,
        "renewed": renewed.collect::<Vec<_>>(),
        "arguments": arguments.collect::<Vec<_>>(),
    })
}
