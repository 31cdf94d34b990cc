//! Everything needed to reproduce the figures: the recording and its recorder, the trace, the
//! machine, the plan, and the commands. It does not depend on the time of the report.

use crate::contents::Report;
use crate::drawing::escape::escaped;
use crate::drawing::table::Table;
use corehop_partitioner::attribution::options;
use corehop_simulator::{Level, Machine};
use corehop_support::format::number::grouped;
use serde_json::{Value, json};

/// Returns the name and version of this program, in the form that traces use.
pub fn generator() -> String {
    format!("corehop {}", env!("CARGO_PKG_VERSION"))
}

/// Returns the trace's properties, by name.
fn recorded(report: &Report<'_>) -> Vec<(&'static str, String)> {
    let explained = report.explained;
    let (trace, header) = (explained.trace, explained.trace.header());
    let checksum = format!(
        "{} bytes, CRC-32C {:08x}",
        grouped(trace.size_bytes()),
        trace.checksum()
    );
    let warm_up = format!(
        "{} complete requests: {} used by the search and left out, {} to warm up, {} counted",
        explained.requests.len() + explained.left_out(),
        explained.left_out(),
        explained.warm_up,
        explained.after.0.requests
    );
    vec![
        ("server", header.command.join(" ")),
        ("requests begin at", header.request_at.clone()),
        (
            "recorded by",
            format!("{}, QEMU {}", header.created_by, header.qemu_version),
        ),
        ("trace", explained.trace_name.into()),
        ("its bytes", checksum),
        ("requests", warm_up),
        ("reported by", generator()),
        ("plan", report.plan_path.display().to_string()),
        ("searched with seed", explained.plan.seed.to_string()),
    ]
}

/// Returns the commands that print the figures of this page and find the plan again.
fn commands(report: &Report<'_>) -> Vec<String> {
    let explained = report.explained;
    let plan = report.plan_path.display();
    let warm_up = match explained.left_out() {
        0 => format!(" --warm-up {}", explained.warm_up),
        _ => String::new(),
    };
    let searched = explained
        .plan
        .expected
        .map(|expected| expected.searched.requests);
    let searched = searched.map_or(String::new(), |requests| format!(" --requests {requests}"));
    let taken = options(explained.trace);
    let trace = match report.is_default_trace {
        true => taken.to_owned(),
        false => format!("{taken} {}", explained.trace_name),
    };
    let (machine, planned) = (&explained.machine.name, &explained.plan.machine);
    let functions = explained.plan.functions.len();
    let (cores, seed) = (explained.plan.cores, explained.plan.seed);
    let functions = match functions == cores as usize {
        true => String::new(),
        false => format!(" --functions {functions}"),
    };
    vec![
        format!(
            "corehop partition --cores {cores}{functions} --machine {planned} --seed {seed}\
             {searched}{trace} -o split.toml"
        ),
        format!("corehop explain --plan {plan} --machine {machine}{warm_up}{trace}"),
        format!("corehop report {plan}{trace} --machine {machine}{warm_up} -o report.html"),
        format!(
            "corehop partition --cores {cores} --sweep --machine {machine} --machine host \
             --json{trace} > sweep.json"
        ),
    ]
}

fn level(level: &Level) -> String {
    let kib = level.size_bytes / 1024;
    let shared = match level.shared_by {
        1 => String::new(),
        cores => format!(", shared by {cores} cores"),
    };
    let cycles = level.latency_cycles;
    format!("{kib} KiB, {} ways, {cycles} cycles{shared}", level.ways)
}

fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
    let cycles = |cycles: u32| format!("{} cycles", grouped(cycles.into()));
    vec![
        (
            "machine",
            format!("{}, {} cores", machine.name, machine.cores),
        ),
        ("L1I", level(&machine.l1i)),
        ("L1D", level(&machine.l1d)),
        ("L2", level(&machine.l2)),
        ("L3", machine.l3.as_ref().map_or("none".into(), level)),
        ("memory", cycles(machine.memory_latency_cycles)),
        ("a hop", cycles(machine.hop_cost_cycles)),
    ]
}

fn modules(report: &Report<'_>) -> Table {
    let mut table = Table::new(&["module", "build id"]);
    for module in report.explained.trace.modules() {
        table.row([module.path.clone(), module.build_id.clone()]);
    }
    table
}

/// Joins lines into a text that keeps its layout.
fn lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(escaped).collect::<Vec<_>>().join("\n")
}

/// Renders the section.
pub fn html(report: &Report<'_>) -> String {
    let list = |of: Vec<(&str, String)>| {
        let item = |(name, value): &(&str, String)| {
            format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value))
        };
        format!("<dl>{}</dl>", of.iter().map(item).collect::<String>())
    };
    format!(
        "{}\n<h3>Commands</h3>\n<pre>{}</pre>\n<h3>Simulated machine</h3>\n{}\n\
         <details><summary>The plan</summary><pre>{}</pre></details>\n\
         <details><summary>Modules and their build ids</summary><div class=\"wide\">{}</div>\
         </details>\n",
        list(recorded(report)),
        lines(commands(report).iter().map(String::as_str)),
        list(machine(report.explained.machine)),
        lines(corehop_plan::render(report.explained.plan).lines()),
        modules(report).html()
    )
}

/// Renders the same for programs.
pub fn json(report: &Report<'_>) -> Value {
    let keys = |of: Vec<(&str, String)>| {
        let pairs = of.into_iter();
        pairs
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect::<serde_json::Map<_, _>>()
    };
    let modules = report.explained.trace.modules().iter();
    let modules = modules.map(|of| json!({ "path": of.path, "build_id": of.build_id }));
    json!({
        "recorded": keys(recorded(report)),
        "commands": commands(report),
        "machine": keys(machine(report.explained.machine)),
        "modules": modules.collect::<Vec<_>>(),
    })
}
