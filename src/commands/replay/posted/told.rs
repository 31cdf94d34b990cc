//! The result of a replay with asynchronous system calls: a table, and keys for scripts.

use crate::terminal::line::{Lines, line};
use corehop_partitioner::attribution::{mark, remarks};
use corehop_simulator::detail::{Posted, PostedCore};
use corehop_simulator::{Counters, Machine};
use corehop_support::format::number::{change_between, counted, grouped as count};
use corehop_traces::Trace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// One way to make the calls.
pub struct Way {
    pub name: String,
    pub batch: Option<usize>,
    pub posted: Posted,
}

/// All ways; in the first, every call is synchronous.
pub struct Report<'a> {
    pub trace_name: &'a Path,
    pub trace: &'a Trace,
    pub machine: &'a Machine,
    /// The count of each call, by name.
    pub made: BTreeMap<String, u64>,
    pub ways: Vec<Way>,
}

type Misses = fn(&Counters) -> u64;

const LEVELS: [(&str, Misses); 3] = [
    ("L1I", |counters| counters.l1i.misses()),
    ("L1D", |counters| counters.l1d.misses()),
    ("L2", |counters| counters.l2.misses()),
];

fn sum(cores: &[PostedCore]) -> PostedCore {
    PostedCore {
        user: cores.iter().map(|core| core.user).sum(),
        kernel: cores.iter().map(|core| core.kernel).sum(),
    }
}

/// Returns the table.
pub fn text(report: &Report<'_>) -> Lines {
    let mut text = Lines::new();
    let trace = report.trace_name.display();
    line!(text, "{trace}, machine {}", report.machine.name);
    let made: Vec<String> = report
        .made
        .iter()
        .map(|(name, &calls)| format!("{name} {}", count(calls)))
        .collect();
    line!(text, "system calls made: {}", made.join(", "));
    for remark in remarks(report.trace) {
        line!(text, "{remark}");
    }
    line!(text);
    let levels = LEVELS.map(|(name, _)| format!("{name:>11}")).concat();
    let [user, kernel] = ["misses of user code", "misses of the kernel"];
    line!(text, "{:<35}{user:>33}{kernel:>33}", "");
    line!(
        text,
        "{:<24}{:>11}{levels}{levels}{:>13}",
        "",
        "posted",
        "cycles"
    );
    let place = sum(&report.ways[0].posted.cores);
    let cycles = |both: &PostedCore| both.user.cycles + both.kernel.cycles;
    for (number, way) in report.ways.iter().enumerate() {
        let all = sum(&way.posted.cores);
        let change = match number {
            0 => count(cycles(&all)),
            _ => change_between(cycles(&place), cycles(&all)),
        };
        let calls = count(way.posted.calls);
        row(&mut text, (&title(way), &calls), &all, &change);
        let cores = way.posted.cores.iter().enumerate();
        for (core, of_core) in cores.filter(|_| way.posted.cores.len() > 1) {
            row(&mut text, (&format!("  core {core}"), ""), of_core, "");
        }
    }
    text
}

fn title(way: &Way) -> String {
    match way.batch {
        None => way.name.clone(),
        Some(batch) => format!("{}, {}", way.name, counted(batch as u64, "call", "calls")),
    }
}

fn row(text: &mut Lines, (name, calls): (&str, &str), of: &PostedCore, cycles: &str) {
    let misses = [&of.user, &of.kernel]
        .into_iter()
        .flat_map(|counters| LEVELS.map(|(_, misses)| format!("{:>11}", count(misses(counters)))));
    let misses: String = misses.collect();
    line!(text, "{name:<24}{calls:>11}{misses}{cycles:>13}");
}

/// Returns the same as JSON.
pub fn value(report: &Report<'_>) -> Value {
    let of = |both: &PostedCore| json!({"user": both.user, "kernel": both.kernel});
    let way = |way: &Way| {
        let cores: Vec<Value> = way.posted.cores.iter().map(of).collect();
        json!({
            "system_calls": way.name,
            "batch": way.batch,
            "calls": way.posted.calls,
            "batches": way.posted.batches,
            "all": of(&sum(&way.posted.cores)),
            "cores": cores,
        })
    };
    let ways: Vec<Value> = report.ways.iter().skip(1).map(way).collect();
    let mut object = json!({
        "trace": report.trace_name,
        "machine": report.machine.name,
        "made": report.made,
        "in_place": of(&sum(&report.ways[0].posted.cores)),
        "posted": ways,
    });
    mark(&mut object, report.trace);
    object
}
