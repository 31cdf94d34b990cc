//! `corehop check`: checks every rule of the trace format, and how much of a damaged trace is
//! readable.

use crate::failure::{Exit, Failure};
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use crate::terminal::progress::during;
use clap::Args;
use corehop_support::format::number::{counted, grouped};
use corehop_support::format::path::lossy;
use corehop_traces::{Finding, Intact, OrderSummary, Report, Rule, check};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Check a trace against every rule of the trace format
///
/// For a damaged trace it also reports which parts can still be read.
#[derive(Args)]
#[command(after_help = "\
Example: corehop check bank.trace
         corehop check --partial bank.trace.partial

Exit code 1 if the trace is damaged or cut off, 3 if the file is not a trace.")]
pub struct Arguments {
    /// Trace to check; it can be unfinished
    trace: PathBuf,
    /// Accept a trace that lacks only its end, such as that of a killed recording
    #[arg(long)]
    partial: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let report = during("checking", || check(&arguments.trace))?;
    console::print(&match arguments.json {
        true => Lines::of_json(&as_json(arguments, &report)),
        false => as_text(&report),
    })?;
    let Some(first) = report.findings.first() else {
        return Ok(());
    };
    let only_cut = report.after_damage.is_empty()
        && report
            .findings
            .iter()
            .all(|finding| finding.violation.rule == Rule::End);
    if only_cut && arguments.partial {
        return Ok(());
    }
    let path = arguments.trace.display();
    let (rule, offset) = (first.violation.rule.name(), first.offset);
    let failure = Failure::new(
        Exit::Findings,
        format!("{path}: breaks the rule `{rule}` at byte {offset}"),
    );
    Err(failure.remedy(match only_cut {
        true => "use it as it is, up to its last whole block, or record it again",
        false => "copy it again from an intact file, or record it again",
    }))
}

fn as_json(arguments: &Arguments, report: &Report) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "entry": finding.entry,
            "offset": finding.offset,
            "problem": finding.violation.detail,
        })
    };
    let rule = |rule: Rule| {
        json!({
            "name": rule.name(),
            "statement": rule.statement(),
            "ok": report.of(rule).next().is_none(),
            "violations": report.of(rule).map(finding).collect::<Value>(),
        })
    };
    let intact = |intact: &Intact| {
        json!({
            "first_entry": intact.first_entry,
            "entries": intact.entries,
            "start": intact.start,
            "end": intact.end,
        })
    };
    json!({
        "trace": lossy(&arguments.trace),
        "size_bytes": report.size_bytes,
        "ok": report.sound(),
        "rules": Rule::ALL.map(rule),
        "readable": intact(&report.readable),
        "executions": report.executions,
        "data_accesses": report.data_accesses,
        "requests": report.requests,
        "complete_requests": report.complete_requests,
        "order": report.order.map(|order| json!({
            "threads": order.threads,
            "runs": order.runs,
            "executions": order.executions,
            "switches": order.switches,
            "median_run_accesses": order.median_run_accesses,
            "largest_run_accesses": order.largest_run_accesses,
        })),
        "intact_after_damage": report.after_damage.iter().map(intact).collect::<Value>(),
    })
}

/// Reports what is proven about the order of the threads, and how exact it is.
fn order_lines(order: &OrderSummary) -> [String; 2] {
    let runs = counted(order.runs, "run", "runs");
    let threads = counted(order.threads.into(), "thread", "threads");
    let switches = counted(order.switches, "switch", "switches");
    let (median, largest) = (order.median_run_accesses, order.largest_run_accesses);
    [
        format!("one for {runs} of {threads}, with {switches} between threads"),
        format!(
            "exact to a run: {} accesses in the median, {} at most",
            grouped(median),
            grouped(largest)
        ),
    ]
}

fn as_text(report: &Report) -> Lines {
    let mut text = Lines::new();
    let mut line = |name: &str, value: &str| line!(text, "{name:<12}{value}");
    let readable = &report.readable;
    let kept = match readable.end == report.size_bytes {
        true => "ok",
        // Data after the damage was not read, so nothing is known about it.
        false => "ok so far",
    };
    for rule in Rule::ALL {
        let broken = report.of(rule).next().is_some();
        let verdict = if broken { "VIOLATED" } else { kept };
        line(rule.name(), &format!("{verdict:<11}{}", rule.statement()));
        for finding in report.of(rule) {
            let (entry, offset) = (finding.entry, finding.offset);
            let detail = &finding.violation.detail;
            line("", &format!("  entry {entry}, byte {offset}: {detail}"));
        }
    }
    let entries = |count: u32| counted(count.into(), "entry", "entries");
    let end = grouped(readable.end);
    let whole = grouped(report.size_bytes);
    line(
        "readable",
        &format!("{end} of {whole} bytes, {}", entries(readable.entries)),
    );
    let executions = counted(report.executions, "execution", "executions");
    let data_accesses = counted(report.data_accesses, "data access", "data accesses");
    line("", &format!("{executions}, {data_accesses}"));
    let requests = counted(report.requests, "request", "requests");
    line(
        "",
        &format!("{requests}, {} of them complete", report.complete_requests),
    );
    if let Some(order) = &report.order {
        let [proven, exact] = order_lines(order);
        line("order", &proven);
        line("", &exact);
    }
    if report.sound() {
        return text;
    }
    match report.after_damage[..] {
        [] => line(
            "missing",
            &format!("everything that was recorded after byte {end}"),
        ),
        [first, ..] => {
            let lost = entries(first.first_entry.saturating_sub(readable.entries));
            let to = grouped(first.start);
            line("missing", &format!("{lost}, at bytes {end} to {to}"));
        }
    }
    for intact in &report.after_damage {
        let (from, to) = (grouped(intact.start), grouped(intact.end));
        let entries = entries(intact.entries);
        line(
            "intact",
            &format!("{entries} after that, at bytes {from} to {to}, which need it"),
        );
    }
    text
}
