//! Accuracy of predictions: predictions of replays compared with measured times.
//!
//! `make bench-truth` runs it in full. The staged benchmark is measured over working sets, updates,
//! accesses and sessions. Phases run on a core each by `carrier` and by `affinity`, compared with
//! both phases in place. Next to each ratio are the one from a replay of the same paths and the one
//! from the timed replay of a recording of the program.
//!
//! The real servers' rows come from the figures stored in research/notes/figures, which their
//! benches printed with their predictions. The output is the rank correlation, the median error,
//! and the three largest errors by name, which a better model has to explain. `COREHOP_ROUNDS` sets
//! the number of rounds, and `COREHOP_BENCH=server` leaves out the staged benchmark. Rounds in
//! which the CPUs' placement differs from that of the calibration do not count, and are repeated.
//!
//! Without arguments, as under `cargo test`, it measures two small configurations. Rejected: the
//! correlation of the ratios themselves, which a single large ratio dominates.

#[path = "../asked/mod.rs"]
mod asked;
mod configurations;
#[allow(dead_code)] // Rates and shares of CPUs are for the staged benchmark's own table.
#[path = "../staged/found.rs"]
mod found;
mod kept;
#[path = "../patched/mod.rs"]
mod patched;
mod placement;
#[path = "../staged/point.rs"]
mod point;
mod recorded;
mod row;
#[path = "../staged/simulated.rs"]
mod simulated;
mod statistics;
#[allow(dead_code)] // Misses and hops are for the table of connections.
#[path = "../timed/mod.rs"]
mod timed;

use corehop_simulator::Machine;
use found::{Found, ratios_of};
use patched::{Outcome, Program};
use placement::Placement;
use row::Row;
use serde_json::{Value, json};

const BACKENDS: [&str; 2] = ["carrier", "affinity"];
const ROUNDS: usize = 15;

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let only_servers = std::env::var("COREHOP_BENCH").is_ok_and(|kind| kind == "server");
    let mut rows = match Machine::named_or_path("host") {
        _ if only_servers => Vec::new(),
        Ok(machine) => {
            println!("predicted on the simulated machine {}", machine.name);
            staged(&machine, is_whole)?
        }
        Err(error) => {
            println!("the staged benchmark is left out: {error}");
            Vec::new()
        }
    };
    rows.extend(kept::rows()?);
    row::print(&rows);
    let mut summaries = Vec::new();
    println!(
        "\n{:<22}{:>6}{:>18}{:>15}",
        "predictions of", "rows", "rank correlation", "median error"
    );
    let mut kinds: Vec<&str> = rows.iter().map(|row| row.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds.into_iter().map(Some).chain([None]) {
        let own = rows
            .iter()
            .filter(|row| kind.is_none_or(|kind| row.kind == kind));
        summaries.push(summary(kind.unwrap_or("all"), &own.collect::<Vec<_>>()));
    }
    println!();
    for row in row::largest_errors(&rows) {
        println!("far off: {row}");
    }
    let all: Vec<Value> = rows.iter().map(Row::json).collect();
    println!("{}", json!({"rows": all, "summaries": summaries}));
    Ok(())
}

/// Prints a summary line for some rows. Returns it as JSON.
fn summary(name: &str, rows: &[&Row]) -> Value {
    let pairs: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| (row.predicted, row.measured))
        .collect();
    let correlation = statistics::rank_correlation(&pairs);
    let error = statistics::median(rows.iter().map(|row| row.error()).collect());
    let shown = |number: Option<f64>| number.map_or_else(|| "-".into(), |n| format!("{n:.2}"));
    let percent = error.map_or_else(|| "-".into(), |error| format!("{:.1} %", error * 100.0));
    println!(
        "{name:<22}{:>6}{:>18}{percent:>15}",
        rows.len(),
        shown(correlation)
    );
    json!({
        "of": name, "rows": rows.len(), "rank_correlation": correlation, "median_error": error,
    })
}

/// Measures the staged benchmark in every configuration, alternately.
fn staged(machine: &Machine, is_whole: bool) -> Outcome<Vec<Row>> {
    let program = patched::build("staged", ["first_phase", "second_phase"])?;
    let [first, second] = program.processors;
    if first == second {
        println!("the staged benchmark is left out: this machine has one CPU");
        return Ok(Vec::new());
    }
    let (points, rounds, duration_ms) = match is_whole {
        true => {
            let l2_kib = machine.l2.size_bytes / 1024;
            (configurations::all(l2_kib), asked::rounds(ROUNDS)?, 150)
        }
        false => (configurations::few(), 1, 20),
    };
    let mut found = Vec::new();
    for point in points {
        found.push(Found::predicted(&program, point)?);
    }
    let mut placement = Placement::calibrated(program.processors);
    let counted = measured(
        &program,
        &mut found,
        placement.as_mut(),
        rounds,
        duration_ms,
    )?;
    println!("CPUs {first} and {second}; medians of {counted} rounds through all configurations");
    if let Some(placement) = placement {
        println!("{}", placement.told());
    }
    if counted == 0 {
        return Err("the CPUs never lay as they did in the calibration: calibrate again".into());
    }
    let mut rows = Vec::new();
    for found in &found {
        let predicted = found.predicted.map(ratios_of);
        rows.extend(
            predicted
                .iter()
                .flat_map(|&ratios| rows_of("staged", found, ratios)),
        );
    }
    if let Err(error) = corehop_recorder::tools::qemu() {
        println!("nothing is recorded: {error}");
        return Ok(rows);
    }
    for found in &found {
        let ratios = recorded::ratios(&program, machine, found.point)?;
        rows.extend(rows_of("staged, recorded", found, ratios));
    }
    Ok(rows)
}

/// Measures all points until this many rounds count, in at most twice as many rounds. Returns the
/// number that count. A round covers all points, so that a slow minute of the host affects all of
/// them.
fn measured(
    program: &Program,
    found: &mut [Found],
    mut placement: Option<&mut Placement>,
    rounds: usize,
    duration_ms: u32,
) -> Outcome<usize> {
    let mut counted = 0;
    let mut holds_now = || {
        placement
            .as_mut()
            .map_or(Ok(true), |placement| placement.holds())
    };
    let mut held = holds_now()?;
    for round in 0..2 * rounds {
        for point in found.iter_mut() {
            point.measure(program, round, duration_ms)?;
        }
        let holds = holds_now()?;
        if held && holds {
            counted += 1;
        } else {
            found.iter_mut().for_each(Found::forget_round);
        }
        held = holds;
        if counted == rounds {
            break;
        }
    }
    Ok(counted)
}

/// Returns the predictions and measurements of a configuration.
fn rows_of(kind: &'static str, found: &Found, predicted: [f64; 2]) -> Vec<Row> {
    let measured = found.ratios().map(|[_, median, _]| median);
    let ways = BACKENDS.into_iter().zip(predicted).zip(measured);
    let row = |((backend, predicted), measured)| Row {
        kind,
        name: configurations::name(&found.point, backend),
        predicted,
        measured,
    };
    ways.map(row).collect()
}
