//! The counts of a replay as tables for a terminal.

use super::Report;
use crate::number::grouped as count;
use corehop_simulator::{Counters, Replay};
use std::fmt::Write;

/// All that is said of a replay: by level, or beside everything on one core where there is a plan.
pub fn render(report: &Report<'_>) -> String {
    let mut text = String::new();
    match (&report.baseline, &report.plan) {
        (Some(baseline), Some(plan)) => {
            heading(&mut text, report, plan);
            comparison(&mut text, baseline, plan);
            per_core(&mut text, plan);
            verdict(&mut text, baseline, plan);
        }
        (Some(replay), None) | (None, Some(replay)) => {
            heading(&mut text, report, replay);
            levels(&mut text, &replay.counters);
        }
        (None, None) => {}
    }
    text
}

/// Adds a line; writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {
        writeln!($text, $($format)*).expect("writing to a string")
    };
}

fn heading(text: &mut String, report: &Report<'_>, replay: &Replay) {
    line!(
        text,
        "{}, machine {}",
        report.trace.display(),
        report.machine.name
    );
    let warm_up = match report.warm_up {
        0 => "from cold caches".into(),
        requests => format!("after {} to warm up", count(requests as u64)),
    };
    let requests = match replay.requests {
        0 => "everything".into(),
        requests => format!("{} requests", count(requests)),
    };
    let accesses = count(replay.accesses);
    line!(text, "{requests} counted {warm_up}: {accesses} accesses\n");
}

fn levels(text: &mut String, counters: &Counters) {
    line!(
        text,
        "{:<22}{:>15}{:>15}{:>10}",
        "",
        "accesses",
        "misses",
        "rate"
    );
    let mut level = |name: &str, accesses: u64, misses: u64| {
        let rate = share(misses, accesses);
        line!(
            text,
            "{name:<22}{:>15}{:>15}{rate:>10}",
            count(accesses),
            count(misses)
        );
    };
    let Counters {
        l1i, l1d, l2, l3, ..
    } = counters;
    level("L1I", l1i.accesses(), l1i.misses());
    level("L1D", l1d.accesses(), l1d.misses());
    level("L2", l2.accesses(), l2.misses());
    level("  fetches", l1i.misses(), l2.fetch_misses());
    level("  loads and stores", l1d.misses(), l2.data_misses());
    level("L3", l3.accesses(), l3.misses());
    level("  fetches", l2.fetch_misses(), l3.fetch_misses());
    level("  loads and stores", l2.data_misses(), l3.data_misses());
    let (fetch, data) = (l2.fetch.misses, l2.data_causes());
    line!(
        text,
        "\n{:<22}{:>15}{:>15}",
        "why the L2 missed",
        "fetches",
        "data"
    );
    let mut cause = |name: &str, fetch: u64, data: u64| {
        if fetch + data > 0 {
            line!(text, "{name:<22}{:>15}{:>15}", count(fetch), count(data));
        }
    };
    cause("  never held", fetch.cold, data.cold);
    cause("  no room", fetch.capacity, data.capacity);
    cause("  other cores' stores", fetch.coherence, data.coherence);
    cause("  left the L3", fetch.inclusion, data.inclusion);
    line!(text, "\n{:<22}{:>15}", "cycles", count(counters.cycles));
}

fn comparison(text: &mut String, baseline: &Replay, plan: &Replay) {
    let cores = format!("{} cores", plan.per_core.len());
    line!(
        text,
        "{:<26}{:>16}{cores:>16}{:>11}",
        "",
        "one core",
        "change"
    );
    let mut row = |name: &str, before: u64, after: u64| {
        let change = match before {
            0 => String::new(),
            _ => format!("{:+9.1} %", (after as f64 / before as f64 - 1.0) * 100.0),
        };
        let (before, after) = (count(before), count(after));
        let row = format!("{name:<26}{before:>16}{after:>16}{change}");
        line!(text, "{}", row.trim_end());
    };
    let (before, after) = (&baseline.counters, &plan.counters);
    row("L1I misses", before.l1i.misses(), after.l1i.misses());
    row("L1D misses", before.l1d.misses(), after.l1d.misses());
    row("L2 misses", before.l2.misses(), after.l2.misses());
    row(
        "  of fetches",
        before.l2.fetch_misses(),
        after.l2.fetch_misses(),
    );
    row(
        "  of loads and stores",
        before.l2.data_misses(),
        after.l2.data_misses(),
    );
    row(
        "  by other cores' stores",
        before.l2.coherence_misses(),
        after.l2.coherence_misses(),
    );
    row("L3 misses", before.l3.misses(), after.l3.misses());
    row("hops", baseline.hops, plan.hops);
    row("cycles", before.cycles, after.cycles);
    if plan.requests > 0 {
        let hops = plan.hops as f64 / plan.requests as f64;
        line!(text, "{:<26}{:>16}{hops:>16.1}", "hops per request", "0.0");
    }
}

fn per_core(text: &mut String, plan: &Replay) {
    let columns = [
        "accesses",
        "L1I misses",
        "L1D misses",
        "L2 misses",
        "lost to stores",
    ];
    line!(
        text,
        "\ncore{}",
        columns.map(|column| format!("{column:>16}")).concat()
    );
    for (core, counters) in plan.per_core.iter().enumerate() {
        let columns = [
            counters.accesses(),
            counters.l1i.misses(),
            counters.l1d.misses(),
            counters.l2.misses(),
            counters.invalidated_lines,
        ];
        line!(
            text,
            "{core:>4}{}",
            columns.map(|of| format!("{:>16}", count(of))).concat()
        );
    }
}

fn verdict(text: &mut String, baseline: &Replay, plan: &Replay) {
    if plan.counters.l2.misses() >= baseline.counters.l2.misses() {
        line!(
            text,
            "\nThe plan does not pay here: the L2s miss no less than one core's does."
        );
    }
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.2} %", part as f64 / whole as f64 * 100.0),
    }
}
