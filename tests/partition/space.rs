//! The search space and its objective, and how a stopped search continues.

use crate::conforming::read;
use crate::partition::{SAMPLE, SHORT, json, partition, refused, searched};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn cores_can_have_several_functions_and_the_plan_replays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("split.toml");
    let path = path.to_str().unwrap();
    let found = json(&["--functions", "3", "-o", path]);
    let plan = corehop_plan::read(Path::new(path)).unwrap();
    let cores: Vec<u32> = plan
        .functions
        .iter()
        .map(|function| function.to.core().unwrap())
        .collect();
    assert_eq!((plan.cores, cores.len(), cores[0]), (2, 3, 0));
    assert_eq!(cores.iter().max(), Some(&1));
    assert_eq!(found["ranks"][0]["cores"], serde_json::json!(cores));
    let why = found["why_this_strategy"].as_str().unwrap();
    assert!(
        why.contains("branch and bound needs a core for each function"),
        "{why}"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "--json", "--plan", path, SAMPLE])
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    let (code, said) = refused(&["--cores", "3", "--functions", "2"]);
    assert_eq!(
        (code, said.contains("at least 3 functions move threads")),
        (2, true)
    );
}

#[test]
fn fewer_cores_are_compared_on_the_same_requests() {
    let three = ["--cores", "3", "--requests", "3", "--json"];
    let of = |arguments: &[&str]| -> Value {
        let output = partition(&[&three[..], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        read(&["partition"], &output.stdout)
    };
    let found = of(&[]);
    let fewer = found["fewer"].as_array().unwrap();
    assert_eq!((fewer.len(), &fewer[0]["cores"]), (1, &2.into()));
    assert_eq!(
        fewer[0]["held_out"]["baseline"],
        found["held_out"]["baseline"]
    );
    let misses = |of: &Value| of["held_out"]["split"]["l2"]["misses"].as_f64().unwrap();
    let is_as_good = misses(&fewer[0]) <= misses(&found) * 1.01;
    assert_eq!(
        found["as_good_cores"],
        if is_as_good { 2.into() } else { Value::Null }
    );
    let cores = if is_as_good { 2 } else { 3 };
    assert_eq!(of(&["--fewer"])["cores"], cores);
}

#[test]
fn throughput_counts_the_busiest_core_and_its_waits() {
    let of = |connections| searched(&["--objective", "throughput", "--connections", connections]);
    let (one, many) = (of("1"), of("64"));
    let cycles = |found: &Value, side: &str| found["held_out"][side]["cycles"].as_f64().unwrap();
    let ratio = |found: &Value| found["draws"][0]["ratio"].as_f64().unwrap();
    // A single connection never waits, so its throughput follows from the cycles.
    let expected = cycles(&one, "split") / cycles(&one, "baseline");
    assert!((ratio(&one) - expected).abs() < 1e-6, "{one}");
    assert_eq!(
        (&one["objective"], &one["connections"]),
        (&"throughput".into(), &1.into())
    );
    // Two cores serve many connections at most twice as fast as one core.
    let least = cycles(&many, "split") / cycles(&many, "baseline");
    assert!(ratio(&many) >= least, "{many}");
}

#[test]
fn throughput_is_that_of_timed_replays_where_the_trace_has_the_connections() {
    let found = searched(&["--objective", "throughput", "--connections", "1"]);
    let timed = &found["timed"];
    assert_eq!(
        (&timed["replayed"], &timed["connections_in_trace"]),
        (&true.into(), &1.into())
    );
    let rates = found["ranks"].as_array().unwrap().iter();
    let rates = rates.map_while(|rank| rank["timed_requests_per_million_cycles"].as_f64());
    let rates: Vec<f64> = rates.collect();
    assert_eq!(timed["finalists"], rates.len());
    assert!(rates.is_sorted_by(|one, next| one >= next), "{rates:?}");
    assert_eq!(timed["split_requests_per_million_cycles"], rates[0]);
    assert!(timed["baseline_requests_per_million_cycles"].as_f64() > Some(0.0));
    let found = json(&["--objective", "throughput", "--connections", "2"]);
    let timed = &found["timed"];
    assert_eq!(timed["replayed"], false);
    assert_eq!(timed["connections_in_trace"], 1);
    let repeated = json(&[
        "--objective",
        "throughput",
        "--connections",
        "2",
        "--repeat-connections",
    ]);
    assert_eq!(repeated["timed"]["replayed"], true);
    assert_eq!(searched(&[])["timed"], Value::Null);
}

#[test]
fn a_search_that_ran_out_of_time_goes_on_from_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.checkpoint");
    let kept = ["--checkpoint", path.to_str().unwrap()];
    let without_time = |mut found: Value| {
        found["seconds"].take();
        found
    };
    let first = json(&[&kept[..], &["--time-limit", "0.1"]].concat());
    assert_eq!(first["stopped"], true);
    let resumed = without_time(json(&kept));
    assert_eq!(resumed, without_time(searched(&[])));
    assert_eq!(resumed, without_time(json(&kept)));
}

#[test]
fn a_checkpoint_of_another_search_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("search.checkpoint");
    let kept = ["--resamples", "1", "--checkpoint", path.to_str().unwrap()];
    let kept = [&SHORT[..], &kept].concat();
    assert!(partition(&kept).status.success());
    let bytes = std::fs::read(&path).unwrap();
    let (code, said) = refused(&[&kept[..], &["--seed", "2"]].concat());
    assert_eq!(code, 3);
    assert!(said.contains("requests: 3 drawn by seed 1 there"), "{said}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    std::fs::write(&path, "something else").unwrap();
    let (code, said) = refused(&kept);
    assert_eq!(
        (code, said.contains("not a checkpoint of a search")),
        (3, true)
    );
}

#[test]
fn another_objective_is_taken_from_full_replays() {
    let found = json(&["--objective", "cycles"]);
    let ranks = found["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 50);
    let least = ranks
        .iter()
        .map(|rank| rank["in_full"].as_u64().unwrap())
        .min();
    assert_eq!(ranks[0]["in_full"].as_u64(), least);
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.contains("cycles"), "{verdict}");
}

#[test]
fn more_cores_than_candidates_are_refused_with_a_way_out() {
    let (code, said) = refused(&["--cores", "8", "--requests", "3", "--min-share", "1"]);
    assert_eq!(code, 3);
    assert!(
        said.contains("groups of candidate functions, but 8 are needed"),
        "{said}"
    );
    assert!(said.contains("--min-share"), "{said}");
}
