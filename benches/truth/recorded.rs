//! The staged program itself under the recorder, and its ratios by the timed replay of that.
//!
//! The synthetic trace of `benches/staged` has the program's data alone, in the order that it would
//! run in. A recording has every instruction and stack access too, as a server's has; the timed
//! replay puts the order anew, and sessions wait for cores as they do natively. So this is what
//! `corehop` would tell a user of such a program. A request is one turn of a session, both phases.
//! Under QEMU some sessions may have had no turn when enough were recorded: others are repeated for
//! them, with which they share all but the stack.

use crate::patched::{Outcome, PLAN, Program};
use crate::point::Point;
use crate::timed::{Question, WINDOW, replay};
use corehop_simulator::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What records.
const EMULATOR: &str = "/usr/bin/qemu-x86_64";
/// In all phases of a recording together, or a little more.
const TOUCHES: u32 = 640_000;
/// Turns of a session, at least.
const TURNS: u32 = 8;
/// The recorder ends the program long before.
const LONG_MS: u32 = 600_000;
const MEMORY_LIMIT_MIB: &str = "2048";
const CORES: u32 = 2;

/// Whether anything can be recorded here.
pub fn is_possible() -> bool {
    Path::new(EMULATOR).exists()
}

/// The predicted ratios to in place, of carrier and of affinity.
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

/// Turns in a million cycles.
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
        cores: CORES,
        plan,
        connections: &[connections],
        is_repeating: true,
        schedulers: &[scheduler],
        think_cycles: 0,
        hop_cycles,
    })?;
    let one = found.first().ok_or("nothing was simulated")?;
    Ok(one.throughput)
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
