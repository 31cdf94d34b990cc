//! `corehop replay --tlb`: reports TLB misses and page walks next to the cache misses.

use super::counted::Counted;
use crate::terminal::line::{Lines, line};
use corehop_simulator::{Replay, TlbCounters};
use corehop_support::format::number::{change_between, grouped as count, share};
use serde_json::{Value, json};

fn all(replay: &Replay) -> TlbCounters {
    replay.tlbs.iter().copied().sum()
}

/// Adds the table of a machine after an empty line, or nothing without translation.
pub fn add(text: &mut Lines, counted: &Counted<'_>) {
    if counted.baseline.tlbs.is_empty() {
        return;
    }
    line!(text);
    match &counted.plan {
        Some(plan) => {
            comparison(text, &counted.baseline, plan);
            per_core(text, plan);
        }
        None => totals(text, &counted.baseline),
    }
}

fn totals(text: &mut Lines, replay: &Replay) {
    let all = all(replay);
    let columns = ["pages", "L1 TLB misses", "rate", "page walks"];
    let [pages, misses, rate, walks] = columns;
    line!(
        text,
        "{:<22}{pages:>15}{misses:>15}{rate:>10}{walks:>15}",
        "address translation"
    );
    for (name, of) in [("fetches", all.fetch), ("loads and stores", all.data)] {
        let rate = share(of.l1_misses, of.lookups, 2);
        let [lookups, misses, walks] = [of.lookups, of.l1_misses, of.walks].map(count);
        line!(
            text,
            "{name:<22}{lookups:>15}{misses:>15}{rate:>10}{walks:>15}"
        );
    }
    if replay.requests > 0 {
        let [misses, walks] = [all.l1_misses(), all.walks()].map(|of| a_request(of, replay));
        line!(
            text,
            "{:<22}{:>15}{misses:>15}{:>10}{walks:>15}",
            "a request",
            "",
            ""
        );
    }
    line!(text);
    let columns = ["reads", "L1D misses", "L2 misses", "L3 misses"];
    let columns = columns.map(|column| format!("{column:>15}")).concat();
    line!(text, "{:<22}{columns}", "walks, by entry");
    let columns = [
        all.walk_loads,
        all.walk_l1d_misses,
        all.walk_l2_misses,
        all.walk_l3_misses,
    ];
    let columns = columns.map(|of| format!("{:>15}", count(of))).concat();
    line!(text, "{:<22}{columns}", "entries of page tables");
}

/// Returns the mean per request.
fn a_request(number: u64, replay: &Replay) -> String {
    format!("{:.1}", number as f64 / replay.requests as f64)
}

fn comparison(text: &mut Lines, baseline: &Replay, plan: &Replay) {
    let (before, after) = (all(baseline), all(plan));
    let title = "address translation";
    let (name, other) = ("baseline", "plan");
    line!(text, "{title:<26}{name:>16}{other:>16}{:>11}", "change");
    for (name, of) in ROWS {
        let (before, after) = (of(&before), of(&after));
        let change = change_between(before, after);
        let (before, after) = (count(before), count(after));
        let row = format!("{name:<26}{before:>16}{after:>16}{change:>11}");
        line!(text, "{}", row.trim_end());
    }
    if plan.requests > 0 {
        let before = a_request(before.walks(), baseline);
        let after = a_request(after.walks(), plan);
        line!(
            text,
            "{:<26}{before:>16}{after:>16}",
            "page walks a request"
        );
    }
}

type Row = (&'static str, fn(&TlbCounters) -> u64);

/// The compared counters.
const ROWS: [Row; 10] = [
    ("L1 TLB misses", TlbCounters::l1_misses),
    ("  of fetches", |of| of.fetch.l1_misses),
    ("  of loads and stores", |of| of.data.l1_misses),
    ("page walks", TlbCounters::walks),
    ("  of fetches", |of| of.fetch.walks),
    ("  of loads and stores", |of| of.data.walks),
    ("entries that walks read", |of| of.walk_loads),
    ("  L1D misses", |of| of.walk_l1d_misses),
    ("  L2 misses", |of| of.walk_l2_misses),
    ("  L3 misses", |of| of.walk_l3_misses),
];

fn per_core(text: &mut Lines, plan: &Replay) {
    let columns = [
        "pages",
        "L1 ITLB misses",
        "L1 DTLB misses",
        "page walks",
        "entries read",
    ];
    line!(text);
    line!(
        text,
        "core{}",
        columns.map(|column| format!("{column:>16}")).concat()
    );
    for (core, of) in plan.tlbs.iter().enumerate() {
        let columns = [
            of.fetch.lookups + of.data.lookups,
            of.fetch.l1_misses,
            of.data.l1_misses,
            of.walks(),
            of.walk_loads,
        ];
        line!(
            text,
            "{core:>4}{}",
            columns.map(|of| format!("{:>16}", count(of))).concat()
        );
    }
}

/// Returns the same as JSON; `None` without translation.
pub fn value(replay: &Replay) -> Option<Value> {
    if replay.tlbs.is_empty() {
        return None;
    }
    let mut object = json!(all(replay));
    object["per_core"] = json!(replay.tlbs);
    Some(object)
}
