//! Cost of a call for the code around it, by its frequency, and of the call itself.
//!
//! Soares's figures 4.1 to 4.4 show the instructions per cycle of two programs by the frequency of
//! `pwrite` or a no-op call. Many machines have no cycle counters by mode, so a program's time
//! before and after each call is measured instead. It makes dependent loads over a set of lines, so
//! that their time depends on how much of the set is still in the caches.

use crate::asked;
use crate::patched::{Outcome, quartiles};
use crate::program::{build, numbers};
use serde_json::{Value, json};

/// Sets that fit an L1D, and an L2 of 512 KiB or more.
pub const SETS_KIB: [u32; 2] = [24, 256];
/// Loads between two calls.
const LOADS: [u32; 8] = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000];
const ALL_LOADS: u32 = 6_000_000;
const KINDS: [&str; 3] = ["none", "getppid", "pwrite"];
/// Number of loads per bucket after a call.
const BUCKETS: u32 = 16;

/// Prints tables, and returns their figures.
pub fn measure(is_whole: bool) -> Outcome<Value> {
    let folder = tempfile::tempdir()?;
    let program = build("pollution", folder.path())?;
    let (loads, all, usual) = match is_whole {
        true => (&LOADS[..], ALL_LOADS, 7),
        false => (&LOADS[..1], 2000, 1),
    };
    let rounds = asked::rounds(usual)?;
    println!("\na load and a call, ns, by loads from one call to the next\n");
    println!(
        "{:>8}{:>10}{:>12}{:>12}{:>12}{:>10}{:>10}{:>14}",
        "KiB", "loads", "no calls", "getppid", "pwrite", "slower", "of it", "a pwrite"
    );
    println!("{:>54}{:>10}{:>10}", "", "by both", "directly");
    let mut rows = Vec::new();
    for kib in SETS_KIB {
        for &loads in loads {
            let row = one(&program, (kib, loads, all / loads), rounds)?;
            rows.push(row);
        }
    }
    let since = since(&program, is_whole, rounds)?;
    Ok(json!({"by_frequency": rows, "since_a_call": since}))
}

fn one(
    program: &std::path::Path,
    (kib, loads, stretches): (u32, u32, u32),
    rounds: usize,
) -> Outcome<Value> {
    let mut load = [const { Vec::new() }; 3];
    let mut call = [const { Vec::new() }; 3];
    // Every kind runs in each round, so that other load on the machine affects all.
    for _ in 0..rounds {
        for (kind, name) in KINDS.iter().enumerate() {
            let words = [kib, loads, stretches].map(|number| number.to_string());
            let told = numbers(program, &[&words[..], &[(*name).into()]].concat())?;
            load[kind].push(told[0]);
            call[kind].push(told[1]);
        }
    }
    let load = load.map(|samples| quartiles(&samples));
    let call = call.map(|samples| quartiles(&samples));
    let slower = |kind: usize| 100.0 * (load[kind][1] / load[0][1] - 1.0);
    println!(
        "{kib:>8}{loads:>10}{:>12.2}{:>12.2}{:>12.2}{:>9.0}%{:>9.0}%{:>14.0}",
        load[0][1],
        load[1][1],
        load[2][1],
        slower(2),
        slower(1),
        call[2][1]
    );
    let of = |all: [[f64; 3]; 3]| json!({"none": all[0], "getppid": all[1], "pwrite": all[2]});
    Ok(json!({"set_kib": kib, "loads": loads, "load_ns": of(load), "call_ns": of(call)}))
}

/// Measures how long the effect of a call lasts.
fn since(program: &std::path::Path, is_whole: bool, rounds: usize) -> Outcome<Vec<Value>> {
    let stretches = if is_whole { 2000 } else { 2 };
    println!("\na load, ns, by loads since the last pwrite\n");
    let mut rows = Vec::new();
    for kib in SETS_KIB {
        let lines = kib * 16;
        let bucket = lines / 8;
        let mut samples = vec![Vec::new(); BUCKETS as usize];
        for _ in 0..rounds {
            let words = [kib, bucket * BUCKETS, stretches].map(|number| number.to_string());
            let more = ["pwrite".to_owned(), bucket.to_string()];
            let told = numbers(program, &[&words[..], &more].concat())?;
            for (samples, number) in samples.iter_mut().zip(told) {
                samples.push(number);
            }
        }
        let ns: Vec<f64> = samples
            .iter()
            .map(|samples| quartiles(samples)[1])
            .collect();
        let told: Vec<String> = ns.iter().map(|ns| format!("{ns:.2}")).collect();
        println!("{kib:>5} KiB, each {bucket} loads: {}", told.join(" "));
        rows.push(json!({"set_kib": kib, "bucket_loads": bucket, "load_ns": ns}));
    }
    Ok(rows)
}
