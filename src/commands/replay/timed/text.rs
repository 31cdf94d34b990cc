//! The result of a timed replay for people: a row for each setting, and details of a single
//! setting.

use super::core_model::ModelName;
use super::simulated::Report;
use crate::terminal::line::{Lines, line};
use corehop_partitioner::attribution::remarks;
use corehop_simulator::branches::BranchPredictorName;
use corehop_simulator::timing::{Load, Outcome, PrefetcherName, Setting};
use corehop_support::format::number::{counted, grouped as count};

/// Maximum number of connections for the matrix of mutual evictions.
const MATRIX: usize = 12;

/// Returns the complete text.
pub fn render(report: &Report<'_>) -> Lines {
    let mut text = Lines::new();
    heading(&mut text, report);
    settings(&mut text, report);
    translations(&mut text, report);
    branches(&mut text, report);
    prefetches(&mut text, report);
    if let [(_, outcome)] = &report.simulated[..] {
        cores(&mut text, outcome);
        causes(&mut text, outcome);
        evictions(&mut text, outcome);
    }
    text
}

fn heading(text: &mut Lines, report: &Report<'_>) {
    let machine = report.machine;
    let (first, _) = &report.simulated[0];
    let trace = report.trace_name.display();
    let (cores, all) = (first.cores, machine.cores);
    line!(
        text,
        "{trace}, machine {}, {cores} of {all} cores",
        machine.name
    );
    let hop = counted(machine.hop_cost_cycles.into(), "cycle", "cycles");
    line!(text, "{}; a hop costs {hop}", load(first.load));
    if report.model != ModelName::InOrder {
        core(text, report);
    }
    for remark in remarks(report.trace) {
        line!(text, "{remark}");
    }
    line!(text);
}

fn core(text: &mut Lines, report: &Report<'_>) {
    let core = report.machine.core;
    let rate = f64::from(core.instructions_in_1000_cycles) / 1000.0;
    let window = counted(
        core.reorder_window_instructions.into(),
        "instruction",
        "instructions",
    );
    let stores = counted(core.store_buffer_entries.into(), "store", "stores");
    line!(
        text,
        "{} model: {rate} instructions per cycle, a window of {window}, a buffer of {stores}",
        report.model.name()
    );
    if !report.has_dependences {
        line!(
            text,
            "the trace does not say what addresses come from: loads within a window all overlap"
        );
    }
}

fn load(load: Load) -> String {
    match load {
        Load::Closed {
            think_cycles: 0, ..
        } => "closed loop, clients do not think".into(),
        Load::Closed {
            think_cycles,
            exponential,
        } => {
            let cycles = counted(think_cycles, "cycle", "cycles");
            let mean = if exponential { " on average" } else { "" };
            format!("closed loop, clients think for {cycles}{mean}")
        }
        Load::Open {
            requests_per_million_cycles: rate,
        } => format!("open loop, {rate} requests per million cycles"),
    }
}

fn settings(text: &mut Lines, report: &Report<'_>) {
    let columns = ["requests", "latency:", "", "", "per request:", "", ""];
    row(text, ["", "", "connections", "counted"], columns, "cores");
    let columns = [
        "per M cycles",
        "median",
        "95 %",
        "99 %",
        "L2 misses",
        "hops",
        "migrations",
    ];
    row(text, ["scheduler", "can do it", "", ""], columns, "busy");
    let mut seed = None;
    for (setting, outcome) in &report.simulated {
        begin_pages(text, setting, &mut seed);
        setting_row(text, setting, outcome);
    }
}

/// Adds a line where another placement of pages begins.
fn begin_pages(text: &mut Lines, setting: &Setting<'_>, seed: &mut Option<u64>) {
    let Some(new) = setting.random_pages.filter(|&new| *seed != Some(new)) else {
        return;
    };
    *seed = Some(new);
    line!(text, "pages at random, seed {new}");
}

fn setting_row(text: &mut Lines, setting: &Setting<'_>, outcome: &Outcome) {
    let per_request = |number: u64| number as f64 / outcome.requests as f64;
    let latency = |percent| count(outcome.latency_cycles(percent));
    let misses = per_request(outcome.counters().l2.misses());
    let columns = [
        format!("{:.3}", outcome.requests_per_million_cycles()),
        latency(50),
        latency(95),
        latency(99),
        format!("{misses:.1}"),
        format!("{:.1}", per_request(outcome.hops())),
        format!("{:.1}", per_request(outcome.migrations())),
    ];
    let names = [
        setting.scheduler.to_string(),
        setting.scheduler.entry.standing.name().to_owned(),
        count(setting.connections as u64),
        count(outcome.requests),
    ];
    let busy = format!("{:.1} %", outcome.utilisation() * 100.0);
    let columns = columns.each_ref().map(String::as_str);
    row(text, names.each_ref().map(String::as_str), columns, &busy);
}

/// Adds the address translations, if they are simulated.
fn translations(text: &mut Lines, report: &Report<'_>) {
    let (first, _) = &report.simulated[0];
    if first.page_sizes.is_none() {
        return;
    }
    let columns = ["L1 TLB misses", "page walks", "entries read", "cycles"];
    table(text, "address translation", &columns, report, |outcome| {
        let tlbs = outcome.tlbs();
        vec![
            tlbs.l1_misses(),
            tlbs.walks(),
            tlbs.walk_loads,
            outcome.translation_cycles(),
        ]
    });
}

/// Adds the predictions of branches, if they are simulated.
fn branches(text: &mut Lines, report: &Report<'_>) {
    let (first, _) = &report.simulated[0];
    if first.branch_predictor == BranchPredictorName::None {
        return;
    }
    let columns = [
        "predicted",
        "mispredicted",
        "conditional",
        "indirect",
        "returns",
    ];
    let title = format!("branch predictor {}", first.branch_predictor.name());
    table(text, &title, &columns, report, |outcome| {
        let branches = outcome.branches();
        vec![
            branches.predicted(),
            branches.mispredicted(),
            branches.conditional_mispredicted,
            branches.indirect_mispredicted,
            branches.returns_mispredicted,
        ]
    });
}

/// Adds the outcome of prefetches, if there are any.
fn prefetches(text: &mut Lines, report: &Report<'_>) {
    let (first, _) = &report.simulated[0];
    if first.prefetcher == PrefetcherName::None {
        return;
    }
    let columns = [
        "prefetches",
        "useful",
        "late",
        "late cycles",
        "evicted unused",
    ];
    let title = format!("prefetcher {}", first.prefetcher);
    table(text, &title, &columns, report, |outcome| {
        let prefetches = outcome.prefetches();
        vec![
            prefetches.issued,
            prefetches.useful,
            prefetches.late,
            prefetches.late_cycles,
            prefetches.unused,
        ]
    });
}

/// Adds a row of counts per request for each setting.
fn table(
    text: &mut Lines,
    title: &str,
    columns: &[&str],
    report: &Report<'_>,
    of: impl Fn(&Outcome) -> Vec<u64>,
) {
    let columns: Vec<String> = columns.iter().map(|name| format!("{name:>16}")).collect();
    line!(text);
    line!(text, "{title}, per request");
    line!(
        text,
        "{:<18}{:>12}{}",
        "scheduler",
        "connections",
        columns.concat()
    );
    let mut seed = None;
    for (setting, outcome) in &report.simulated {
        begin_pages(text, setting, &mut seed);
        let per_request = |number: u64| number as f64 / outcome.requests as f64;
        let columns = of(outcome).into_iter();
        let columns: Vec<String> = columns
            .map(|number| format!("{:>16.1}", per_request(number)))
            .collect();
        let scheduler = setting.scheduler.to_string();
        line!(
            text,
            "{scheduler:<18}{:>12}{}",
            count(setting.connections as u64),
            columns.concat()
        );
    }
}

fn row(text: &mut Lines, names: [&str; 4], columns: [&str; 7], busy: &str) {
    let [scheduler, standing, connections, requests] = names;
    let columns = columns.map(|column| format!("{column:>13}")).concat();
    line!(
        text,
        "{scheduler:<18}{standing:<10}{connections:>12}{requests:>9}{columns}{busy:>9}"
    );
}

fn cores(text: &mut Lines, outcome: &Outcome) {
    let columns = [
        "busy",
        "mean queue",
        "accesses",
        "L2 misses",
        "hops",
        "migrations",
    ];
    let columns = columns.map(|column| format!("{column:>13}")).concat();
    line!(text);
    line!(text, "core{columns}");
    for (number, core) in outcome.per_core.iter().enumerate() {
        let columns = [
            format!("{:.1} %", core.utilisation() * 100.0),
            format!("{:.2}", core.mean_queue()),
            count(core.counters.accesses()),
            count(core.counters.l2.misses()),
            count(core.hops),
            count(core.migrations),
        ];
        let columns = columns.map(|column| format!("{column:>13}")).concat();
        line!(text, "{number:>4}{columns}");
    }
}

fn causes(text: &mut Lines, outcome: &Outcome) {
    let counters = outcome.counters();
    let columns = [
        "misses",
        "never held",
        "no room",
        "other stores",
        "left outside",
    ];
    let columns = columns.map(|column| format!("{column:>15}")).concat();
    line!(text);
    line!(text, "level{columns}");
    let levels = [
        ("L1I", counters.l1i),
        ("L1D", counters.l1d),
        ("L2", counters.l2),
        ("L3", counters.l3),
    ];
    for (name, level) in levels {
        let causes = level.causes();
        let columns = [
            causes.total(),
            causes.cold,
            causes.capacity,
            causes.coherence,
            causes.inclusion,
        ];
        let columns = columns.map(|of| format!("{:>15}", count(of))).concat();
        line!(text, "{name:<5}{columns}");
    }
}

fn evictions(text: &mut Lines, outcome: &Outcome) {
    let connections = outcome.evictions.len();
    if !(2..=MATRIX).contains(&connections) {
        return;
    }
    let by = (0..connections).map(|by| format!("{:>13}", format!("by {by}")));
    line!(text);
    line!(text, "L2 lines of connection{}", by.collect::<String>());
    for (of, row) in outcome.evictions.iter().enumerate() {
        let row = row.iter().map(|&lines| format!("{:>13}", count(lines)));
        line!(text, "{of:>22}{}", row.collect::<String>());
    }
}
