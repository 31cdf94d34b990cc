//! The verdict includes the effect of the split on time with each backend, and depends on it.

use crate::conforming::read;
use crate::partition::{beginning, partition};
use serde_json::Value;
use std::process::Output;

/// Four cores save two thirds of the misses. They also save time, except with hops by the kernel.
fn four(more: &[&str]) -> Output {
    let quick = [
        "--strategy",
        "local",
        "--resamples",
        "1",
        "--returns",
        "never",
    ];
    partition(&[&["--cores", "4", beginning()], &quick[..], more].concat())
}

fn json(more: &[&str]) -> Value {
    let output = four(&[&["--json"], more].concat());
    assert!(output.status.success(), "{output:?}");
    read(&["partition"], &output.stdout)
}

#[test]
fn a_split_that_pays_with_carriers_alone_says_so() {
    let found = json(&[]);
    let verdict = found["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("worth measuring with carrier: "),
        "{verdict}"
    );
    let told = &found["held_out"];
    let (before, after) = (&told["baseline"]["cycles"], &told["split"]["cycles"]);
    let affinity = after.as_f64().unwrap() / before.as_f64().unwrap();
    assert_eq!(found["cycles_ratio"]["affinity"], affinity);
    assert!(affinity > 1.0);
    assert!(found["backend"].is_null() && found["against"].is_null());
    // If the machine has the cost of the backend, the replay counts the same.
    let carried = json(&["--backend", "carrier"]);
    assert_eq!(carried["hop_cost_cycles"], 1200);
    assert_eq!(carried["backend"], "carrier");
    assert_eq!(carried["plan"], found["plan"]);
    let ratio = &found["cycles_ratio"]["carrier"];
    assert!(ratio.as_f64().unwrap() < 1.0);
    assert_eq!(&carried["cycles_ratio"]["carrier"], ratio);
    assert!(carried["cycles_ratio"]["affinity"].is_null());
}

#[test]
fn the_backend_named_decides_whether_a_plan_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let named = ["-o", plan.to_str().unwrap()];
    let refused = four(&[&named[..], &["--backend", "affinity"]].concat());
    assert_eq!(refused.status.code(), Some(5));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("% cycles with affinity"), "{said}");
    assert!(!plan.exists());
    assert!(four(&named).status.success() && plan.exists());
}
