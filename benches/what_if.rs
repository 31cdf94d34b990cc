//! Compares the prediction of `corehop profile --what-if` for false sharing with the measured cost.
//!
//! `make bench-what-if` runs it in full and prints a table, and one JSON object in the last line.
//! Two threads take turns to store to counters that share lines, and to counters on separate lines.
//! Both are timed natively, alternating, on two CPUs. The first is then recorded, and a what-if on
//! `--machine host` pads its counters. The ratios are comparable, not the times: the model adds up
//! latencies, and a core overlaps them. Without arguments, as under `cargo test`, a few stores show
//! that it still works.

mod machine;
mod patched;

use patched::{Outcome, quartiles};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The distance of counters, in bytes.
const STRIDES: [u32; 2] = [8, 64];

const CHANGE: &str = "\
[[change]]
object = \"counters\"
element_bytes = 8
pad_to_bytes = 64
align_bytes = 64
";

fn main() -> Outcome<()> {
    let is_whole = std::env::args().any(|argument| argument == "--whole");
    let (rounds, sweeps, recorded) = if is_whole {
        (15, 20_000, 60)
    } else {
        (1, 20, 6)
    };
    let folder = tempfile::tempdir()?;
    let mut programs = Vec::new();
    for stride in STRIDES {
        programs.push(built(folder.path(), stride)?);
    }
    let mut native_ns = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (program, samples) in programs.iter().zip(&mut native_ns) {
            samples.push(timed(program, sweeps)?);
        }
    }
    let native_ns = native_ns.map(|samples| quartiles(&samples));
    let outcome = predicted(folder.path(), recorded)?;
    let object = |side: &str| -> Outcome<[f64; 2]> {
        let cost = &outcome["objects"][0][side];
        let of = |key: &str| cost[key].as_f64().ok_or("a figure is missing");
        // Each increment loads and stores.
        Ok([
            of("cycles")? / of("stores")?,
            of("invalidated_lines")? / of("stores")?,
        ])
    };
    let ([before, taken], [after, _]) = (object("before")?, object("after")?);
    println!("{}\n", machine::described());
    println!("an increment       sharing lines    padded   ratio");
    let [shared, padded] = native_ns.map(|[_, median, _]| median);
    let row = |name: &str, [shared, padded]: [f64; 2]| {
        let ratio = shared / padded;
        println!("{name:<17}{shared:>15.2}{padded:>10.2}{ratio:>8.2}");
    };
    row("measured, ns", [shared, padded]);
    row("predicted, cycles", [before, after]);
    println!(
        "\n{:.0} % of the recorded stores take a line",
        100.0 * taken
    );
    let figures = json!({
        "machine": machine::described(),
        "native_ns": native_ns,
        "predicted_cycles": [before, after],
        "native_ratio": shared / padded,
        "predicted_ratio": before / after,
        "lines_taken_per_store": taken,
    });
    println!("\n{figures}");
    Ok(())
}

/// Builds the program whose counters are so far apart.
fn built(folder: &Path, stride: u32) -> Outcome<PathBuf> {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/benches/programs/false_sharing.c"
    );
    let program = folder.join(format!("counters-{stride}"));
    let status = Command::new("cc")
        .args(["-O2", "-pthread", "-Wl,--build-id=sha1"])
        .arg(format!("-DSTRIDE_BYTES={stride}"))
        .arg("-o")
        .args([&program, Path::new(source)])
        .status()?;
    match status.success() {
        true => Ok(program),
        false => Err("false_sharing.c does not compile".into()),
    }
}

/// Returns the nanoseconds of an increment.
fn timed(program: &Path, sweeps: u32) -> Outcome<f64> {
    let output = Command::new(program).arg(sweeps.to_string()).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Records so many sweeps of each thread, and returns the outcome of the what-if.
fn predicted(folder: &Path, sweeps: u32) -> Outcome<Value> {
    let corehop = Path::new(env!("CARGO_BIN_EXE_corehop"));
    std::fs::write(folder.join("change.toml"), CHANGE)?;
    let mut record = Command::new(corehop);
    record
        .args(["record", "-o", "trace", "--request-at", "sweep", "--"])
        .args(["./counters-8", &sweeps.to_string()])
        .env("COREHOP_QEMU_PLUGIN", plugin(corehop)?);
    // Standard output has the time under the emulator, which means nothing.
    let recorded = record.current_dir(folder).output()?;
    if !recorded.status.success() {
        return Err(String::from_utf8_lossy(&recorded.stderr).into());
    }
    let host = match corehop_simulator::Machine::named_or_path("host") {
        Ok(machine) if machine.cores > 2 => "host",
        _ => "xeon-e5-2620-v4",
    };
    let mut profile = Command::new(corehop);
    profile
        .args(["profile", "trace", "--json", "--what-if", "change.toml"])
        .args(["--warm-up", "4", "--machine", host])
        // Without the last sweeps, which include the end of the program.
        .args(["--requests", &format!("0-{}", 2 * sweeps - 3)]);
    let output = profile.current_dir(folder).output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

fn plugin(corehop: &Path) -> Outcome<PathBuf> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked"]);
    match cfg!(debug_assertions) {
        // With the features that `cargo test --workspace` uses.
        true => build.args(["--workspace", "--lib", "--bench", "what_if"]),
        false => build.args(["--release", "-p", "corehop-qemu-plugin"]),
    };
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    match build.status()?.success() {
        true => Ok(corehop.with_file_name("libcorehop_qemu_plugin.so")),
        false => Err("the plugin does not build".into()),
    }
}
