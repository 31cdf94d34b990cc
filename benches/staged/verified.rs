//! The same program through `corehop measure`: it must find the gain, and none between two copies
//! of the same file.
//!
//! Here, the original is the delegated program without hops: every session is a thread that runs
//! both phases wherever the scheduler puts it. On a virtual machine, the rounds of such a program
//! differ by half, so a gain of a fifth would need hundreds of them. The test therefore uses a
//! point with a large gain: an L2 holds everything, and the misses are lines that the other core
//! writes.

use crate::patched::{Outcome, PLAN, Program};
use crate::point::Point;
use serde_json::{Value, json};
use std::process::Command;

const WORKING_SET_KIB: u32 = 64;

/// Prints the result of `verify` for hops with the carrier backend, and for the program against
/// itself.
pub fn tell(program: &Program, rounds: u32, duration_ms: u32) -> Outcome<Value> {
    let point = Point {
        working_set_kib: WORKING_SET_KIB,
        updates_percent: 10.0,
        touches: 5000,
        sessions: 8,
    };
    // On a busy machine, the threads do not get the CPU in less time.
    let words = point.words("delegated", duration_ms.max(300), program);
    let carrier = verify(program, rounds, &words, false)?;
    let same = verify(program, rounds, &words, true)?;
    let name = format!("carrier, {WORKING_SET_KIB} KiB");
    println!("\n{}", line(&name, &carrier));
    println!("{}", line("the same file twice", &same));
    Ok(json!({"carrier": carrier, "same": same}))
}

fn verify(program: &Program, rounds: u32, words: &[String], is_same: bool) -> Outcome<Value> {
    let [first, second] = program.processors;
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command
        .arg("measure")
        .arg("--plan")
        .arg(program.plain.with_file_name(PLAN));
    if is_same {
        command.arg("--patched").arg(&program.plain);
    }
    command
        .args([
            "--rounds",
            &rounds.to_string(),
            "--throughput",
            "^([0-9]+) ",
            "--json",
            "-q",
            "--",
        ])
        .arg(&program.plain)
        .args(words)
        .env("COREHOP_BACKEND", "carrier")
        .env("COREHOP_CPUS", format!("{first},{second}"))
        .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).map_err(|_| format!("corehop measure: {said}").into())
}

/// Formats a line of the table.
fn line(name: &str, told: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let [low, high] = [0, 1].map(|end| number(&told["interval"][end]));
    let (ratio, verdict) = (
        number(&told["ratio"]),
        told["verdict"].as_str().unwrap_or("?"),
    );
    let (rounds, resolution) = (&told["rounds"], number(&told["resolution_percent"]));
    format!(
        "verify, {name}: {ratio:.2}, 95 % interval {low:.2} to {high:.2}: {verdict} \
         ({rounds} rounds, which show changes of {resolution:.0} % and more)"
    )
}
