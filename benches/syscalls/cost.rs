//! Cost of a call that never waits: one core's threads send and receive a byte each.
//!
//! The number of threads is the number of calls that can be made together. Soares's figure 5.3 has
//! the same question for a no-op call: there, a call in a batch of three or more costs less than a
//! single one. Here, a call has work, as in servers, and a thread that submits its call is switched
//! away and back. Everything runs on the CPU of one core, except for the ways with core 1.

use crate::asked;
use crate::patched::{Outcome, quartiles};
use crate::program::build;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Number of calls of all threads together.
const CALLS: usize = 200_000;
/// Where calls are made; empty for synchronous calls.
const WAYS: [&str; 5] = ["", "yield", "batch", "batch:1", "1"];

/// Prints a table, and returns its figures.
pub fn measure(is_whole: bool) -> Outcome<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let program = build("batches", folder.path())?;
    let (threads, calls, usual) = match is_whole {
        true => (&THREADS[..], CALLS, 7),
        false => (&THREADS[1..3], 400, 1),
    };
    let rounds = asked::rounds(usual)?;
    println!("\na byte sent or received, ns, by threads whose calls may be made together\n");
    print!("{:>8}", "threads");
    for way in WAYS {
        print!("{:>14}", name(way));
    }
    println!("{:>14}", "a batch holds");
    let mut rows = Vec::new();
    for &count in threads {
        // Every way runs in each round, so that other load on the machine affects all.
        let mut samples = vec![Vec::new(); WAYS.len()];
        let mut batch = 0.0;
        for _ in 0..rounds {
            for (samples, way) in samples.iter_mut().zip(WAYS) {
                let (ns, held) = run(&program, folder.path(), (count, calls), way)?;
                samples.push(ns);
                if way == "batch" {
                    batch = held;
                }
            }
        }
        print!("{count:>8}");
        let mut figures = serde_json::Map::new();
        for (samples, way) in samples.into_iter().zip(WAYS) {
            let [low, median, high] = quartiles(&samples);
            print!("{median:>14.0}");
            figures.insert(name(way).into(), json!([low, median, high]));
        }
        println!("{batch:>14.1}");
        rows.push(json!({"threads": count, "ns": figures, "batch": batch}));
    }
    Ok(rows)
}

fn name(way: &str) -> &str {
    if way.is_empty() { "in place" } else { way }
}

/// Returns nanoseconds per call, and for batches the mean number of requests in one.
fn run(program: &Path, folder: &Path, of: (usize, usize), way: &str) -> Outcome<(f64, f64)> {
    let (threads, calls) = of;
    let statistics = folder.join("statistics.json");
    let mut command = Command::new("taskset");
    let cpus = if way.ends_with('1') { "0,1" } else { "0" };
    command.args(["-c", cpus]);
    if !way.is_empty() {
        command.arg(env!("CARGO_BIN_EXE_corehop"));
        command.args(["run", "--system-calls", &format!("send,recv@{way}"), "--"]);
        // Otherwise, queues and other programs make the runtime decline calls, which is not
        // measured here.
        command
            .env("COREHOP_QUEUE", "0")
            .env("COREHOP_RUN_DELAY", "100");
        command.env("COREHOP_STATS", &statistics);
    }
    let rounds = (calls / (2 * threads)).max(1);
    command
        .arg(program)
        .args([threads, rounds].map(|number| number.to_string()));
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let ns = String::from_utf8(output.stdout)?.trim().parse()?;
    if way != "batch" {
        return Ok((ns, 0.0));
    }
    let told: Value = serde_json::from_slice(&std::fs::read(&statistics)?)?;
    let of = |key: &str| told["system_calls"][key].as_f64().unwrap_or_default();
    Ok((ns, of("requests") / of("enters").max(1.0)))
}
