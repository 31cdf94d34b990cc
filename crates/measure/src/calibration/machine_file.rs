//! Writes a calibration as a machine file: each number with its method and its spread.
//!
//! Sizes, ways and sharing stay as the kernel describes them, because a simulated cache has whole
//! sets. A comment notes a level that seems smaller.

use crate::calibration::bend::Capacity;
use crate::calibration::calibrated::Calibration;
use crate::calibration::cores::Pair;
use crate::calibration::doubts::Doubt;
use crate::calibration::replacement::Misses;
use crate::calibration::samples::{Figure, Quartiles};
use crate::calibration::tlbs::Tlbs;
use corehop_plan::inert;
use corehop_simulator::{IdleHop, Inclusion, Level, Machine, Policy, Translation};
use serde::Serialize;
use std::fmt::Write;

/// Below this share of the size that the kernel reports, a level counts as smaller.
const SMALLER: f64 = 0.75;

/// Renders the file. It lists `doubts` if it is written in spite of them.
pub fn render(calibration: &Calibration, doubts: &[Doubt]) -> String {
    let machine = calibration.machine();
    let latencies = &calibration.latencies;
    let mut text = head(calibration);
    doubts
        .iter()
        .for_each(|doubt| comment(&mut text, &format!("DOUBTFUL: {doubt}")));
    text.push('\n');
    scalars(&mut text, calibration, &machine);
    table(&mut text, "l1i", machine.l1i, latencies.l1i, "jumps");
    table(&mut text, "l1d", machine.l1d, latencies.l1d, "walk");
    table(&mut text, "l2", machine.l2, latencies.l2, "walk");
    if let Some(l3) = machine.l3 {
        table(&mut text, "l3", l3, latencies.l3, "walk");
    }
    core(&mut text, calibration, &machine);
    translation(&mut text, &machine);
    text += "\n# What was measured: the file holds for no other machine.\n[calibrated]\n";
    let model = toml::Value::String(calibration.cpu_model.clone());
    let _ = writeln!(text, "cpu_model = {model}");
    text.push('\n');
    more(&mut text, calibration);
    text
}

/// Appends a comment, wrapped like the rest of the file, with terminal control characters made
/// inert.
fn comment(text: &mut String, said: &str) {
    const WIDTH: usize = 100;
    let mut line = String::from("#");
    for word in inert(said).split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// Formats quartiles as `5.0 (4.9 to 5.1)`.
fn spread(quartiles: Quartiles, decimals: usize) -> String {
    let Quartiles { low, median, high } = quartiles;
    format!("{median:.decimals$} ({low:.decimals$} to {high:.decimals$})")
}

fn head(calibration: &Calibration) -> String {
    let mut text = String::new();
    let clocks = &calibration.clocks;
    let pages = match calibration.has_huge_pages {
        true => "in huge pages, so that the TLB hardly matters",
        false => "in small pages, since the kernel gave no huge ones: misses of the TLB are in it",
    };
    let cpus = calibration.cpus.len();
    let said = [
        format!("This machine, measured by {}.", calibration.command),
        format!("{}, {cpus} CPUs allowed.", calibration.cpu_model),
        "Of each number the median is used; in brackets, half of the readings lie between.".into(),
        format!(
            "Cycles are the core's, at {} GHz by a chain of dependent additions, one a cycle, \
             timed with each walk. The time stamp counter ticks at {:.3} GHz.",
            spread(clocks.core_ghz, 3),
            clocks.tsc_ghz
        ),
        String::new(),
        "[sys]   as the kernel describes it under /sys/devices/system/cpu.".into(),
        format!("[walk]  loads along a random cycle through all lines of a range, {pages}."),
        "[flush] the same through lines that were thrown out of all caches before.".into(),
        "[jumps] code that jumps along a random cycle through all its lines; branches are \
         predicted, so that fetches overlap."
            .into(),
        "[branch] branches by chance in a loop, from when the load that decides them is done."
            .into(),
        "[lines] loads of lines that another core has just written.".into(),
        "[hop]   hops of a patched program there and back, halved: by sched_setaffinity, to a CPU \
         that was just left, of eight threads that hop at the same time, and by a carrier that is \
         awake. To a CPU that was idle: one way."
            .into(),
    ];
    said.iter()
        .for_each(|line| comment(&mut text, line.trim_end()));
    text
}

fn scalars(text: &mut String, calibration: &Calibration, machine: &Machine) {
    let name = toml::Value::String(machine.name.clone());
    let _ = writeln!(text, "name = {name}");
    let _ = writeln!(text, "cores = {}  # [sys]", machine.cores);
    let _ = writeln!(text, "line_size_bytes = 64  # [sys]");
    let hops = &calibration.hops;
    let rows = [
        (
            "memory_latency_cycles",
            machine.memory_latency_cycles,
            calibration.latencies.memory,
            "flush",
        ),
        (
            "transfer_latency_cycles",
            machine.transfer_latency_cycles,
            calibration.transfer,
            "lines",
        ),
        (
            "hop_cost_cycles",
            machine.hop_cost_cycles,
            hops.affinity_awake,
            "hop",
        ),
        (
            "busy_hop_cost_cycles",
            machine.busy_hop_cost_cycles,
            hops.affinity_busy,
            "hop",
        ),
        (
            "carried_hop_cost_cycles",
            machine.carried_hop_cost_cycles,
            hops.carrier_awake,
            "hop",
        ),
    ];
    for (key, value, figure, how) in rows {
        let _ = writeln!(text, "{key} = {value}  # {}", source(figure, how));
    }
    if machine.idle_hops.is_empty() {
        return;
    }
    text.push_str("idle_hops = [  # [hop] the mean, without a hundredth at either end\n");
    for (point, after) in machine.idle_hops.iter().zip(&hops.affinity_idle) {
        let IdleHop {
            idle_cycles,
            cost_cycles,
        } = point;
        let _ = writeln!(
            text,
            "    {{ idle_cycles = {idle_cycles}, cost_cycles = {cost_cycles} }},  # after {} us",
            after.idle_us
        );
    }
    text.push_str("]\n");
}

/// Describes where a number comes from: how it was measured, in cycles and nanoseconds.
fn source(figure: Option<Figure>, how: &str) -> String {
    match figure {
        None => "assumed: it was not measured".into(),
        Some(Figure { cycles, ns }) => {
            format!("[{how}] {}; {:.1} ns", spread(cycles, 1), ns.median)
        }
    }
}

fn table(text: &mut String, name: &str, level: Level, figure: Option<Figure>, how: &str) {
    let Level {
        size_bytes,
        ways,
        latency_cycles,
        shared_by,
        ..
    } = level;
    let _ = writeln!(text, "\n[{name}]");
    let _ = writeln!(text, "size_bytes = {size_bytes}  # [sys]");
    let _ = writeln!(text, "ways = {ways}  # [sys]");
    let _ = writeln!(
        text,
        "latency_cycles = {latency_cycles}  # {}",
        source(figure, how)
    );
    if shared_by != 1 {
        let _ = writeln!(text, "shared_by = {shared_by}  # [sys]");
    }
    if level.inclusion == Inclusion::NonInclusive {
        text.push_str("inclusion = \"non-inclusive\"  # assumed: see below\n");
    }
    if level.policy == Policy::Random {
        text.push_str("policy = \"random\"  # the nearest to how often a circular path misses\n");
    }
}

/// Writes the parameters of core models.
fn core(text: &mut String, calibration: &Calibration, machine: &Machine) {
    let core = machine.core;
    let per_cycle = f64::from(core.instructions_in_1000_cycles) / 1000.0;
    let _ = writeln!(
        text,
        "\n# By the processor's model, except for the last.\n[core]"
    );
    let _ = writeln!(text, "instructions_per_cycle = {per_cycle}");
    let (window, stores) = (core.reorder_window_instructions, core.store_buffer_entries);
    let _ = writeln!(text, "reorder_window_instructions = {window}");
    let _ = writeln!(text, "store_buffer_entries = {stores}");
    let source = source(calibration.mispredicted_branch, "branch");
    let _ = writeln!(
        text,
        "mispredict_cycles = {}  # {source}",
        core.mispredict_cycles
    );
}

/// Writes the TLBs, if the processor is known.
fn translation(text: &mut String, machine: &Machine) {
    #[derive(Serialize)]
    struct Table<'a> {
        translation: &'a Translation,
    }
    let Some(translation) = &machine.translation else {
        return;
    };
    text.push('\n');
    comment(
        text,
        "By the processor's model. Measured with a line in each page: the entries of the first TLB \
         for data, second_level_cycles, and walk_cycles.",
    );
    if let Ok(table) = toml::to_string(&Table { translation }) {
        text.push_str(&table);
    }
}

/// Writes figures that have no key in machine files.
fn more(text: &mut String, calibration: &Calibration) {
    comment(text, "Measured as well, in cycles:");
    let (latencies, hops) = (&calibration.latencies, &calibration.hops);
    let figures = [
        ("code that the L2 serves, a line", latencies.l2_code),
        ("the L2 in small pages", latencies.l2_small_pages),
        ("the L3 in small pages", latencies.l3_small_pages),
        ("memory in small pages", latencies.memory_small_pages),
        ("the L2 line after line", latencies.l2_sequential),
        ("the L3 line after line", latencies.l3_sequential),
        ("a hop to a carrier that sleeps", hops.carrier_parked),
        (
            "a hop by sched_setaffinity to a CPU that sleeps",
            hops.affinity_parked,
        ),
    ];
    for (what, figure) in figures {
        if let Some(Figure { cycles, .. }) = figure {
            comment(text, &format!("{what}: {}", spread(cycles, 1)));
        }
    }
    for note in notes(calibration) {
        comment(text, &note);
    }
}

/// Returns the findings other than latencies, one sentence each: bends of the curve, gains by
/// prefetchers, misses of a circular path, near CPUs, and missing figures.
pub fn notes(calibration: &Calibration) -> Vec<String> {
    let mut notes: Vec<String> = calibration.capacities.iter().map(capacity_line).collect();
    let gains = [
        ("L2", calibration.l2_prefetch_gain),
        ("L3", calibration.l3_prefetch_gain),
    ];
    for (level, gain) in gains {
        if let Some(gain) = gain {
            notes.push(format!(
                "line after line the {level} answers {gain:.1} times as fast as in random order: \
                 prefetchers"
            ));
        }
    }
    notes.extend(tlb_line(&calibration.tlbs));
    if let Some(replacement) = calibration.replacement {
        let share = replacement.miss_share * 100.0;
        let (path, policy) = (replacement.path_bytes, policy(replacement.misses));
        notes.push(format!(
            "a circular path of {path} bytes misses the L2 in {share:.0} %: {policy}"
        ));
    }
    notes.extend(calibration.pairs.iter().map(pair_line));
    let assumed = calibration.assumed.iter();
    notes.extend(assumed.map(|assumed| format!("assumed: {assumed}")));
    let left_out = calibration.left_out.iter();
    notes.extend(left_out.map(|missing| format!("left out: {missing}")));
    notes
}

/// Describes the TLBs for data; `None` if the latency does not rise with the pages.
fn tlb_line(tlbs: &Tlbs) -> Option<String> {
    let (pages, second) = (tlbs.first_level_pages?, tlbs.second_level_cycles?);
    let walk = tlbs.walk_cycles?;
    Some(format!(
        "the first TLB for data holds {pages} pages, the second takes {second:.1} cycles more, and \
         a page walk {walk:.0} more than that"
    ))
}

fn pair_line(pair: &Pair) -> String {
    let [first, second] = pair.cpus;
    let doubted = match pair.is_contradicted() {
        true => ", which contradicts the kernel",
        false => "",
    };
    let near = match pair.is_near {
        Some(true) => ": near, they share a core or an L2",
        Some(false) => ": apart",
        None => "",
    };
    let word = spread(pair.word_ns, 1);
    format!("CPUs {first} and {second}: a word takes {word} ns{near}{doubted}")
}

fn policy(misses: Misses) -> &'static str {
    match misses {
        Misses::Always => "always, as with lru, fifo and plru",
        Misses::InPart => "in part, as with random, which misses in 44 %",
    }
}

/// Describes a level's size by the curve.
fn capacity_line(capacity: &Capacity) -> String {
    let Capacity {
        level, told_bytes, ..
    } = capacity;
    let kib = |bytes: u64| bytes >> 10;
    let Some(bend) = capacity.bend_bytes else {
        return format!("{level}: the latency rises at none of the sizes measured");
    };
    let smaller = match (bend as f64) < SMALLER * *told_bytes as f64 {
        true => ": smaller, so others may share it",
        false => "",
    };
    let (bend, told) = (kib(bend), kib(*told_bytes));
    format!("{level}: the latency rises at {bend} KiB, the kernel reports {told} KiB{smaller}")
}
