//! The result for people: the medians, the ratio with its interval, and the verdict.

use super::result::Report;
use crate::measuring::in_groups;
use crate::terminal::line::{Lines, line};
use corehop_measure::Sample;
use corehop_measure::rounds::{CONFIDENCE, TELLING_PERCENT, Verdict};
use corehop_support::format::number::{change, counted, grouped};

/// Returns the table.
pub fn render(report: &Report<'_>) -> Lines {
    let mut text = Lines::new();
    let (arguments, comparison) = (report.arguments, &report.comparison);
    let program = arguments.command[0].to_string_lossy();
    let rounds = counted(report.rounds.all().len() as u64, "round", "rounds");
    line!(
        text,
        "{program}: {rounds}, original and patched in turn; medians"
    );
    line!(text);
    line!(
        text,
        "{:<18}{:>14}{:>14}{:>10}",
        "",
        "original",
        "patched",
        "change"
    );
    let throughput = report.rounds.medians(|sample| sample.throughput);
    row(&mut text, what_is_counted(report), throughput);
    if arguments.under.latency.is_some() {
        let latency = |sample: &Sample| sample.latency.unwrap_or(f64::NAN);
        row(&mut text, "latency", report.rounds.medians(latency));
    }
    for kind in report.counters.iter().flatten() {
        row(&mut text, kind.name, report.rounds.per_operation(kind.name));
    }
    line!(text);
    let (ratio, percent) = (comparison.ratio, CONFIDENCE * 100.0);
    let interval = format!(
        "{percent} % interval {:.3} to {:.3}",
        comparison.low, comparison.high
    );
    line!(text, "{:<12}{ratio:.3}; {interval}", "ratio");
    let resolution = comparison.resolution_percent();
    line!(
        text,
        "{:<12}changes of {resolution:.1} % and more",
        "these show"
    );
    if let Some(groups) = report.rounds.groups() {
        line!(text, "{:<12}{}", "caution", in_groups(&groups));
    }
    if let Some(neighbors) = report.rounds.neighbors() {
        line!(text, "{:<12}{neighbors}", "caution");
    }
    hops(&mut text, report);
    if let Err(reason) = &report.counters {
        line!(
            text,
            "{:<12}not available: {reason} (see `corehop doctor`)",
            "counters"
        );
    }
    predicted(&mut text, report);
    line!(text, "{:<12}{}", "verdict", verdict(report));
    text
}

fn verdict(report: &Report<'_>) -> String {
    if let Some(error) = report.rounds.why_cut_short() {
        return format!("none: measuring ended early: {error}");
    }
    let ratio = report.comparison.ratio;
    match report.verdict() {
        Verdict::Faster => format!("faster: {}", change(ratio)),
        Verdict::Slower => format!("slower: {}", change(ratio)),
        Verdict::NoDifference => {
            format!("no difference of {TELLING_PERCENT} % or more: the interval holds 1")
        }
        Verdict::Inconclusive => {
            format!(
                "inconclusive: the interval holds 1, and changes of {TELLING_PERCENT} % or more"
            )
        }
    }
}

fn what_is_counted(report: &Report<'_>) -> &'static str {
    let arguments = report.arguments;
    let under = &arguments.under;
    match (&under.throughput, &arguments.count, &under.load) {
        (Some(_), _, _) => "throughput",
        (_, Some(_), _) => "calls a second",
        (_, _, Some(_)) => "loads a second",
        _ => "runs a second",
    }
}

/// Adds a row. Counts of the processor are per operation: throughput times the load's seconds.
fn row(text: &mut Lines, name: &str, [original, patched]: [f64; 2]) {
    let shown = [original, patched].map(|value| match value {
        value if value >= 1000.0 => grouped(value.round() as u64),
        value => format!("{value:.4}"),
    });
    let changed = match original > 0.0 {
        true => change(patched / original),
        false => String::new(),
    };
    line!(
        text,
        "{name:<18}{:>14}{:>14}{changed:>10}",
        shown[0],
        shown[1]
    );
}

fn hops(text: &mut Lines, report: &Report<'_>) {
    let Some(told) = report.rounds.hops() else {
        return;
    };
    let cost = match told.hop_ns {
        cost if cost > 0.0 => format!(", about {cost:.0} ns each"),
        _ => String::new(),
    };
    let failed = match told.failed_hops {
        0 => String::new(),
        failed => format!(", {} failed", grouped(failed)),
    };
    let (backend, hops) = (&told.backend, grouped(told.hops));
    line!(text, "{:<12}{hops} by {backend}{cost}{failed}", "hops");
    if let Some(calls) = told.system_calls {
        let [posted, declined] = [calls.posted, calls.declined].map(grouped);
        line!(
            text,
            "{:<12}{posted} posted, {declined} made where they are",
            "calls"
        );
    }
}

fn predicted(text: &mut Lines, report: &Report<'_>) {
    let predicted = &report.predicted;
    let Some(misses) = predicted.l2_misses_ratio else {
        return;
    };
    let mut said = format!("{} L2 misses", change(misses));
    if let (Some(ratio), Some(machine), Some(cost)) = (
        predicted.throughput_ratio,
        &predicted.machine,
        predicted.hop_cost_cycles,
    ) {
        let connections = u64::from(report.arguments.connections);
        let connections = counted(connections, "connection", "connections");
        let cost = grouped(cost.into());
        said += &format!(
            ", {ratio:.3} times the throughput of {connections} ({machine}, {cost} cycles a hop)"
        );
    }
    if let (None, Some(plan)) = (&predicted.machine, report.plan) {
        let machine = &plan.machine;
        said += &format!(" on {machine}, says the plan");
    }
    line!(text, "{:<12}{said}", "predicted");
}
