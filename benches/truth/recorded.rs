//! Records the staged program itself, and computes its ratios by a timed replay of the recording.
//!
//! The synthetic trace of `benches/staged` has only the program's data accesses, in the order of a
//! run. A recording also has every instruction and stack access, like that of a server. The timed
//! replay determines the order again, and sessions wait for cores as in a native run. The result is
//! thus what `corehop` reports to a user of such a program. A request is one turn of a session with
//! both phases. Under QEMU, some sessions may have had no turn before enough were recorded. Others
//! are repeated for them; they differ only in their stacks.

use crate::patched::{Outcome, PLAN, Program};
use crate::point::Point;
use crate::timed::{Question, WINDOW, replay};
use corehop_simulator::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Approximate total accesses of a recording, over all phases.
const TOUCHES: u32 = 640_000;
/// Minimum turns of a session.
const TURNS: u32 = 8;
/// The recorder ends the program long before.
const LONG_MS: u32 = 600_000;
const MEMORY_LIMIT_MIB: &str = "2048";
const CORES: u32 = 2;

/// Returns the predicted ratios to in place, of carrier and of affinity.
pub fn ratios(program: &Program, machine: &Machine, point: Point) -> Outcome<[f64; 2]> {
    let folder = tempfile::tempdir()?;
    let plan = program.plain.with_file_name(PLAN);
    let trace = record(program, point, "in-place", folder.path())?;
    let in_place = rate(&trace, &plan, CORES, "pinned", None)?;
    let trace = record(program, point, "delegated", folder.path())?;
    let hopping = |hop_cycles| rate(&trace, &plan, point.sessions, "split", hop_cycles);
    let carried = machine.carried_hop_cycles();
    let (carrier, affinity) = (hopping(Some(carried))?, hopping(None)?);
    Ok([carrier / in_place, affinity / in_place])
}

/// Returns turns per million cycles, the mean over placements of pages.
fn rate(
    trace: &Path,
    plan: &Path,
    connections: u32,
    scheduler: &str,
    hop_cycles: Option<u32>,
) -> Outcome<f64> {
    let found = replay(&Question {
        trace,
        machine: "host",
        core_model: WINDOW,
        is_detailed: true,
        cores: CORES,
        plan,
        connections: &[connections],
        is_repeating: true,
        schedulers: &[scheduler],
        think_cycles: 0,
        hop_cycles,
    })?;
    if found.is_empty() {
        return Err("nothing was simulated".into());
    }
    let all: f64 = found.iter().map(|timed| timed.throughput).sum();
    Ok(all / found.len() as f64)
}

fn record(program: &Program, point: Point, way: &str, folder: &Path) -> Outcome<PathBuf> {
    let trace = folder.join(way);
    let of_each = (TOUCHES / (2 * point.touches * point.sessions)).max(TURNS);
    let turns = (of_each * point.sessions).to_string();
    let mut record = Command::new(env!("CARGO_BIN_EXE_corehop"));
    record.args(["record", "-q", "--memory-limit", MEMORY_LIMIT_MIB, "-o"]);
    record.arg(&trace);
    record.args(["--request-at", "first_phase", "--requests", &turns, "--"]);
    record.arg(&program.plain);
    let output = record.args(point.words(way, LONG_MS, program)).output()?;
    match trace.exists() {
        true => Ok(trace),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{way} was not recorded: {}", said.trim()).into())
        }
    }
}
