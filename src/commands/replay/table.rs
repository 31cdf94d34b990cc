//! The counts of a replay as tables for a terminal.

use super::counted::{Baseline, Report};
use super::{modes, translation};
use crate::terminal::line::{Lines, line};
use corehop_simulator::{Counters, Replay};
use corehop_support::format::number::{change_between, grouped as count, share};

/// Returns all tables: by level, or compared with the baseline if there is a plan. Several machines
/// follow one another, with a final summary of a line for each.
pub fn render(report: &Report<'_>) -> Lines {
    let mut text = Lines::new();
    heading(&mut text, report);
    let several = report.counted.len() > 1;
    for counted in &report.counted {
        if several {
            line!(text, "machine {}", counted.machine.name);
        }
        match &counted.plan {
            Some(plan) => {
                comparison(&mut text, report.baseline, &counted.baseline, plan);
                per_core(&mut text, plan);
                verdict(&mut text, report.baseline, &counted.baseline, plan);
            }
            None => levels(&mut text, report.baseline, &counted.baseline),
        }
        translation::add(&mut text, counted);
        if let Some(told) = &counted.modes {
            modes::add(&mut text, told);
        }
        if several {
            line!(text);
        }
    }
    if several {
        summary(&mut text, report);
    }
    text
}

fn heading(text: &mut Lines, report: &Report<'_>) {
    let trace = report.trace.display();
    match &report.counted[..] {
        [only] => line!(text, "{trace}, machine {}", only.machine.name),
        several => line!(text, "{trace}, {} machines", several.len()),
    }
    // Accesses are the same on every machine.
    let replay = report.counted[0].asked();
    counted_requests(text, replay, report.warm_up, &report.remarks);
}

/// Prints what was counted, and how the trace was recorded; ends with an empty line.
pub fn counted_requests(text: &mut Lines, replay: &Replay, warm_up: usize, remarks: &[String]) {
    let warm_up = match warm_up {
        0 => "from cold caches".into(),
        requests => format!("after {} to warm up", count(requests as u64)),
    };
    let requests = match replay.requests {
        0 => "everything".into(),
        requests => format!("{} requests", count(requests)),
    };
    let accesses = count(replay.accesses);
    line!(text, "{requests} counted {warm_up}: {accesses} accesses");
    for remark in remarks {
        line!(text, "{remark}");
    }
    line!(text);
}

/// Returns the name of a baseline for a column heading.
fn name(baseline: Baseline) -> &'static str {
    match baseline {
        Baseline::OneCore => "one core",
        Baseline::ThreadPerCore => "thread per core",
    }
}

fn levels(text: &mut Lines, baseline: Baseline, replay: &Replay) {
    let counters = &replay.counters;
    let placement = match baseline {
        Baseline::OneCore => name(baseline).to_owned(),
        Baseline::ThreadPerCore => format!("threads on {}", cores(replay)),
    };
    line!(
        text,
        "{placement:<22}{:>15}{:>15}{:>10}",
        "accesses",
        "misses",
        "rate"
    );
    let mut level = |name: &str, accesses: u64, misses: u64| {
        let rate = share(misses, accesses, 2);
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
    line!(text);
    line!(
        text,
        "{:<22}{:>15}{:>15}",
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
    line!(text);
    line!(text, "{:<22}{:>15}", "cycles", count(counters.cycles));
}

/// Returns how many cores a replay used, as text.
fn cores(replay: &Replay) -> String {
    match replay.per_core.len() {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    }
}

/// Adds the heading of a comparison with the baseline.
fn before_and_after(text: &mut Lines, title: &str, before: Baseline, plan: &Replay) {
    let (before, after) = (name(before), cores(plan));
    line!(text, "{title:<26}{before:>16}{after:>16}{:>11}", "change");
}

/// Adds a row of the comparison.
fn change(text: &mut Lines, name: &str, before: u64, after: u64) {
    let change = change_between(before, after);
    let (before, after) = (count(before), count(after));
    let row = format!("{name:<26}{before:>16}{after:>16}{change:>11}");
    line!(text, "{}", row.trim_end());
}

fn comparison(text: &mut Lines, of: Baseline, baseline: &Replay, plan: &Replay) {
    before_and_after(text, "", of, plan);
    let mut row = |name: &str, before, after| change(text, name, before, after);
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

fn per_core(text: &mut Lines, plan: &Replay) {
    let columns = [
        "accesses",
        "L1I misses",
        "L1D misses",
        "L2 misses",
        "lost to stores",
    ];
    line!(text);
    line!(
        text,
        "core{}",
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

fn verdict(text: &mut Lines, of: Baseline, baseline: &Replay, plan: &Replay) {
    if plan.counters.l2.misses() < baseline.counters.l2.misses() {
        return;
    }
    let other = match of {
        Baseline::OneCore => "one core",
        Baseline::ThreadPerCore => "a thread per core",
    };
    line!(text);
    line!(
        text,
        "The plan does not reduce L2 misses, compared with {other}."
    );
}

/// Adds the L2 misses of each machine, a line each.
fn summary(text: &mut Lines, report: &Report<'_>) {
    if let Some(plan) = &report.counted[0].plan {
        before_and_after(text, "L2 misses", report.baseline, plan);
    } else {
        let placement = name(report.baseline);
        line!(
            text,
            "{:<26}{placement:>16}{:>16}",
            "L2 misses",
            "of accesses"
        );
    }
    for counted in &report.counted {
        let machine = &counted.machine.name;
        let before = counted.baseline.counters.l2.misses();
        if let Some(plan) = &counted.plan {
            change(text, machine, before, plan.counters.l2.misses());
        } else {
            let rate = share(before, counted.baseline.accesses, 2);
            line!(text, "{machine:<26}{:>16}{rate:>16}", count(before));
        }
    }
}
