//! The request of a search for hops by argument, and the verdict on its result.

use crate::options::carriers;
use crate::options::scope::Scope;
use crate::terminal::line::{Lines, line};
use corehop_partitioner::Comparison;
use corehop_partitioner::attribution::remarks;
use corehop_partitioner::objective::Objective;
use corehop_partitioner::requests::TrainTestSplit;
use corehop_partitioner::weights::Weighted;
use corehop_support::atomic_file::Output;
use corehop_support::format::number::{change, counted};
use corehop_traces::Trace;

/// The input of the search, and the form of its output.
pub struct SearchRequest<'a> {
    pub trace: &'a Trace,
    pub trace_name: &'a str,
    pub machines: &'a [Weighted],
    /// Maximum number of cores.
    pub cores: u32,
    /// What to minimize.
    pub objective: Objective,
    pub scope: &'a Scope,
    pub output: Option<&'a Output>,
    /// Whether to write the plan regardless of its gain.
    pub is_forced: bool,
    pub json: bool,
}

/// Describes the effect of a plan on held-out requests, or else on the searched ones, and returns
/// whether it is a gain.
pub fn verdict(
    asked: &SearchRequest<'_>,
    machine: &Weighted,
    (searched, held_out): (&Comparison, Option<&Comparison>),
) -> (String, bool) {
    let judged = held_out.unwrap_or(searched);
    let requests = counted(judged.requests, "request", "requests");
    let searched = held_out.map_or("searched", |_| "not searched");
    let name = asked.objective.name();
    let (what, pays) = match judged.ratio(asked.objective) {
        None => return (format!("nothing to gain: no {name} on one core"), false),
        Some(ratio) if ratio >= 1.0 => {
            let change = change(ratio);
            return (format!("no speedup found: {change} {name}"), false);
        }
        Some(ratio) => (
            format!("{} {name} on {requests} {searched}", change(ratio)),
            true,
        ),
    };
    let what = match judged.break_even_cycles(&machine.machine) {
        None => what,
        Some(cycles) => format!("{what}; pays off if a hop costs less than {cycles:.0} cycles"),
    };
    (what, pays)
}

/// Returns the first lines of the output: what was searched.
pub fn heading(asked: &SearchRequest<'_>, machine: &Weighted, parts: &TrainTestSplit) -> Lines {
    let mut lines = Lines::new();
    let mut say = |label: &str, what: &str| line!(lines, "{label:<11} {what}");
    say(
        "trace",
        &format!("{}, machine {}", asked.trace_name, machine.machine.name),
    );
    for remark in remarks(asked.trace) {
        say("", &remark);
    }
    for known in carriers::of_trace(asked.trace) {
        say("", &known.said());
    }
    let drawn = format!(
        "{} requests searched (seed {}), {} for warm-up, {} held out",
        parts.searched.len(),
        asked.scope.seed,
        parts.warm_up.len(),
        parts.held_out.len()
    );
    say("requests", &drawn);
    lines
}
