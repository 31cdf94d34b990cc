//! `corehop info`: prints the content of a trace.
//!
//! Opening a trace reads everything except the executions. They are read once, to count what each
//! request did.

mod activity;
mod columns;
mod kernel_visits;
mod stretches;
mod system_calls;

use crate::failure::Failure;
use crate::terminal::console;
use crate::terminal::line::{Lines, line};
use activity::Activity;
use clap::Args;
use corehop_support::format::number::{counted, grouped};
use corehop_support::format::path::lossy;
use corehop_traces::{EndReason, Ending, Index, Note, Trace};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// Print what a trace contains
///
/// The keys of --json are stable; `corehop schema info --keys` lists them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  corehop info bank.trace
  corehop info --system-calls bank.trace")]
pub struct Arguments {
    /// Trace to read; it can be unfinished
    trace: PathBuf,
    /// Also print the size of each column of the file
    #[arg(long)]
    columns: bool,
    /// Also print the system calls, their number per request, and the user code between them
    ///
    /// If the trace contains the kernel (`record --system`), print the reasons why the kernel ran.
    #[arg(long)]
    system_calls: bool,
    /// Print one JSON object instead of text, with columns and system calls
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut trace = Trace::open(&arguments.trace)?;
    trace.index_by(Index::Physical);
    let activity = Activity::of(&trace)?;
    if arguments.json {
        return console::print(&Lines::of_json(&as_json(arguments, &trace, &activity)));
    }
    let mut lines = as_text(arguments, &trace, &activity);
    if arguments.columns {
        line!(lines);
        lines.append(&columns::as_text(&trace, activity.accesses()));
    }
    if arguments.system_calls {
        line!(lines);
        let of_kernel = activity.kernel_visits.as_text();
        lines.append(&of_kernel.unwrap_or_else(|| activity.system_calls.as_text()));
    }
    console::print(&lines)
}

/// Returns the minimum, median, and maximum of ascending numbers; the upper middle one of an even
/// number.
fn spread(ascending: &[u64]) -> Option<[u64; 3]> {
    let middle = ascending.get(ascending.len() / 2)?;
    Some([*ascending.first()?, *middle, *ascending.last()?])
}

fn spread_as_json(ascending: &[u64]) -> Value {
    match spread(ascending) {
        Some([min, median, max]) => json!({"min": min, "median": median, "max": max}),
        None => Value::Null,
    }
}

/// Returns the number of requests of each known connection, ascending.
fn requests_per_connection(trace: &Trace) -> Vec<u64> {
    let mut by_connection = HashMap::new();
    for connection in trace.requests().iter().filter_map(|r| r.connection) {
        *by_connection.entry(connection).or_insert(0) += 1;
    }
    let mut counts: Vec<u64> = by_connection.into_values().collect();
    counts.sort_unstable();
    counts
}

/// Reports the number of processes, and what is known about the memory that they share.
fn processes(trace: &Trace) -> String {
    let count = trace.process_count();
    if trace.lacks_address_spaces() {
        return format!("{count}; which memory they share is not known");
    }
    match trace.shared_objects().len() {
        _ if count < 2 => count.to_string(),
        0 => format!("{count}, which share no memory"),
        objects => format!("{count}, which can share pages of {objects} files and segments"),
    }
}

fn complete_count(trace: &Trace) -> usize {
    trace.requests().iter().filter(|r| r.complete).count()
}

/// Reports the numbers of the recorded requests, unless they are simply the first.
fn numbers(trace: &Trace) -> Option<String> {
    const SHOWN: usize = 8;
    let numbers: Option<Vec<u64>> = trace.requests().iter().map(|r| r.number).collect();
    let numbers = numbers?;
    if numbers.iter().copied().eq(1..=numbers.len() as u64) {
        return None;
    }
    let shown: Vec<String> = numbers.iter().take(SHOWN).copied().map(grouped).collect();
    let more = if numbers.len() > SHOWN { ", ..." } else { "" };
    Some(format!("of those served: {}{more}", shown.join(", ")))
}

/// Returns the numbers of the requests, and the user's notes between them.
fn notes(trace: &Trace) -> impl Iterator<Item = (&'static str, String)> {
    let note = |note: &Note| {
        let requests = grouped(note.requests);
        ("note", format!("after {requests} requests: {}", note.text))
    };
    let numbers = numbers(trace).map(|numbers| ("", numbers));
    numbers.into_iter().chain(trace.notes().iter().map(note))
}

/// Reports how the recording ended: as a word for scripts and a sentence for people.
fn ending(trace: &Trace) -> (&'static str, String) {
    match trace.ending() {
        Ending::Finished(EndReason::RequestsReached) => (
            "requests-reached",
            "complete: all requests of --requests".into(),
        ),
        Ending::Finished(EndReason::ServerExited) => {
            ("server-exited", "complete: the server exited".into())
        }
        Ending::Finished(EndReason::Interrupted) => {
            ("interrupted", "complete: the recording was stopped".into())
        }
        Ending::Finished(EndReason::Failed(problem)) => {
            ("failed", format!("the recording failed: {problem}"))
        }
        Ending::Cut { offset, .. } => {
            let offset = grouped(*offset);
            (
                "cut",
                format!("cut off: readable up to byte {offset}; `corehop check` shows more"),
            )
        }
    }
}

/// Returns why the recording failed, if it did.
fn failure(trace: &Trace) -> Option<&str> {
    match trace.ending() {
        Ending::Finished(EndReason::Failed(problem)) => Some(problem),
        _ => None,
    }
}

/// Returns how much of the file is readable: all of it, unless the recording was cut off.
fn readable_bytes(trace: &Trace) -> u64 {
    match trace.ending() {
        Ending::Cut { offset, .. } => *offset,
        Ending::Finished(_) => trace.size_bytes(),
    }
}

fn as_json(arguments: &Arguments, trace: &Trace, activity: &Activity<'_>) -> Value {
    let header = trace.header();
    let modules = trace.modules().iter().map(|module| {
        json!({
            "path": module.path,
            "build_id": module.build_id,
            "load_bias": module.load_bias,
            "start": module.start,
            "end": module.end,
        })
    });
    let columns = trace.column_sizes().into_iter().map(|column| {
        json!({
            "entry": column.entry,
            "column": column.column,
            "size_bytes": column.size_bytes,
            "values_bytes": column.values_bytes,
        })
    });
    let per_connection = requests_per_connection(trace);
    json!({
        "trace": lossy(&arguments.trace),
        "size_bytes": trace.size_bytes(),
        "bytes_per_access": activity.bytes_per_access(trace),
        "complete": trace.complete(),
        "ending": ending(trace).0,
        "failure": failure(trace),
        "readable_bytes": readable_bytes(trace),
        "created_by": header.created_by,
        "command": header.command,
        "request_at": header.request_at,
        "qemu_version": header.qemu_version,
        "architecture": header.architecture,
        "processes": trace.process_count(),
        "has_address_spaces": trace.header().has_address_spaces,
        "shared_objects": trace.shared_objects(),
        "threads": trace.threads().len(),
        "thread_ids": trace
            .threads()
            .iter()
            .map(|thread| json!({"process": thread.process_id, "thread": thread.os_thread_id}))
            .collect::<Value>(),
        "modules": modules.collect::<Value>(),
        "functions": trace.functions().len(),
        "code_blocks": trace.code_blocks().len(),
        "requests": trace.requests().len(),
        "complete_requests": complete_count(trace),
        "request_numbers": trace.requests().iter().map(|r| r.number).collect::<Vec<_>>(),
        "notes": trace
            .notes()
            .iter()
            .map(|note| json!({"requests": note.requests, "text": note.text}))
            .collect::<Value>(),
        "accesses_per_request": spread_as_json(&activity.per_request),
        "connections": per_connection.len(),
        "requests_per_connection": spread_as_json(&per_connection),
        "executions": trace.execution_count(),
        "accesses": activity.accesses(),
        "fetches": activity.fetches,
        "loads": activity.loads,
        "stores": activity.stores,
        "system_calls": activity.system_calls.as_json(),
        "kernel_visits": activity.kernel_visits.as_json(),
        "kernel_accesses": activity.of_kernel.iter().sum::<u64>(),
        "physical_accesses": activity.physical.0,
        "physical_pages": activity.physical.1,
        "page_moves": page_moves(trace),
        "accesses_by_cpu": activity.by_cpu,
        "cpu_moves": cpu_moves(trace),
        "columns": columns.collect::<Value>(),
    })
}

/// Returns what is known about the requests, as lines.
fn request_lines(trace: &Trace, activity: &Activity<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line = |name, value| lines.push((name, value));
    let marker = &trace.header().request_at;
    let all = grouped(trace.requests().len() as u64);
    let complete = complete_count(trace);
    match spread(&activity.per_request) {
        Some(spread) => {
            let spread = spread.map(grouped).join(" / ");
            line("requests", format!("{all}, {complete} of them complete"));
            line(
                "",
                format!("{spread} accesses each (least / median / most)"),
            );
        }
        None if !trace.requests().is_empty() => {
            line("requests", format!("{all}, none of them complete"));
        }
        None if marker.is_empty() => {
            line("requests", "none: the trace marks no requests".into());
        }
        None => line("requests", format!("none: `{marker}` was never reached")),
    }
    notes(trace).for_each(|(name, value)| line(name, value));
    let per_connection = requests_per_connection(trace);
    if let Some(spread) = spread(&per_connection) {
        let spread = spread.map(grouped).join(" / ");
        let connections = grouped(per_connection.len() as u64);
        let each = format!("{connections}, {spread} requests each (least / median / most)");
        line("connections", each);
    }
    lines
}

/// Reports the kernel's accesses, in the trace of a machine.
fn of_kernel(activity: &Activity<'_>) -> Option<String> {
    let all: u64 = activity.of_kernel.iter().sum();
    let share = 100.0 * all as f64 / activity.accesses().max(1) as f64;
    let [fetches, loads, stores] = activity.of_kernel.map(grouped);
    let accesses = grouped(all);
    (all > 0).then(|| {
        format!("{accesses}, {share:.1} %: {fetches} fetches, {loads} loads, {stores} stores")
    })
}

/// Reports the accesses with a known physical address, in the trace of a machine.
fn of_physical_memory(trace: &Trace, activity: &Activity<'_>) -> Option<String> {
    let (accesses, pages) = activity.physical;
    let share = 100.0 * accesses as f64 / activity.accesses().max(1) as f64;
    let pages = counted(pages as u64, "physical page", "physical pages");
    let moves = counted(page_moves(trace), "time", "times");
    let all = grouped(accesses);
    (accesses > 0)
        .then(|| format!("{all} accesses, {share:.1} %, on {pages}; a page was moved {moves}"))
}

/// Reports on which CPUs threads ran, in the trace of a machine.
fn of_cpus(trace: &Trace, activity: &Activity<'_>) -> Option<String> {
    let all = activity.accesses().max(1) as f64;
    let share = |(cpu, accesses): (&u16, &u64)| {
        let share = 100.0 * *accesses as f64 / all;
        format!("{cpu}: {} accesses, {share:.1} %", grouped(*accesses))
    };
    let shares: Vec<String> = activity.by_cpu.iter().map(share).collect();
    let moves = counted(cpu_moves(trace), "time", "times");
    (!shares.is_empty()).then(|| format!("{}; a thread was moved {moves}", shares.join(", ")))
}

/// Counts the known migrations of threads to another CPU.
fn cpu_moves(trace: &Trace) -> u64 {
    trace.cpus().iter().filter(|on| on.since > 0).count() as u64
}

/// Counts the known moves of pages to another physical address.
fn page_moves(trace: &Trace) -> u64 {
    trace.pages().iter().filter(|page| page.since > 0).count() as u64
}

fn as_text(arguments: &Arguments, trace: &Trace, activity: &Activity<'_>) -> Lines {
    let header = trace.header();
    let mut text = Lines::new();
    let mut line = |name: &str, value: &str| line!(text, "{name:<14}{value}");
    line("trace", &arguments.trace.display().to_string());
    line("ending", &ending(trace).1);
    // An imported trace lacks some of this.
    if !header.command.is_empty() {
        line("command", &header.command.join(" "));
    }
    if !header.request_at.is_empty() {
        line("request at", &header.request_at);
    }
    let qemu = match header.qemu_version.as_str() {
        "" => String::new(),
        version => format!("QEMU {version}"),
    };
    let mut made_by = vec![&*header.created_by, &*qemu, &*header.architecture];
    made_by.retain(|part| !part.is_empty());
    line("recorded by", &made_by.join(", "));
    let bytes = grouped(trace.size_bytes());
    match activity.bytes_per_access(trace) {
        Some(share) => line("size", &format!("{bytes} bytes, {share:.3} an access")),
        None => line("size", &format!("{bytes} bytes")),
    }
    line("processes", &processes(trace));
    line("threads", &trace.threads().len().to_string());
    line(
        "functions",
        &format!("{} entered", grouped(trace.functions().len() as u64)),
    );
    line("code blocks", &grouped(trace.code_blocks().len() as u64));
    for (name, value) in request_lines(trace, activity) {
        line(name, &value);
    }
    line("executions", &grouped(trace.execution_count()));
    let [fetches, loads, stores] = [activity.fetches, activity.loads, activity.stores].map(grouped);
    let accesses = grouped(activity.accesses());
    line(
        "accesses",
        &format!("{accesses}: {fetches} fetches, {loads} loads, {stores} stores"),
    );
    let of_kernel_calls = activity.kernel_visits.in_short();
    let calls = of_kernel_calls.unwrap_or_else(|| activity.system_calls.in_short());
    line("system calls", &calls);
    if let Some(of_kernel) = of_kernel(activity) {
        line("in the kernel", &of_kernel);
    }
    if let Some(of_cpus) = of_cpus(trace, activity) {
        line("CPUs", &of_cpus);
    }
    if let Some(of_physical_memory) = of_physical_memory(trace, activity) {
        line("in memory", &of_physical_memory);
    }
    for (place, module) in trace.modules().iter().enumerate() {
        let name = if place == 0 { "modules" } else { "" };
        let build_id = match module.build_id.as_str() {
            "" => "no build id",
            build_id => build_id,
        };
        line(name, &format!("{} ({build_id})", module.path));
    }
    text
}
