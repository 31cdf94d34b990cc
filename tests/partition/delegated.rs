//! Delegated calls: found, reported, written as a plan, and listed by `candidates`.

use crate::conforming::read;
use crate::partition::{SAMPLE, beginning, partition, refused};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn json(arguments: &[&str]) -> Value {
    let output = partition(&[arguments, &["--json", "--resamples", "1"]].concat());
    assert!(output.status.success(), "{output:?}");
    read(&["partition"], &output.stdout)
}

#[test]
fn the_best_call_of_the_sample_is_that_of_a_whole_statement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("delegated.toml");
    let path = path.to_str().unwrap();
    let found = json(&["--delegate", "1", "-o", path]);
    let told = &found["delegated"];
    assert_eq!(told["functions"][0], "_Z21mysql_execute_commandP3THDb");
    assert_eq!(
        found["runner_up"]["functions"][0],
        "_Z9parse_sqlP3THDP12Parser_stateP19Object_creation_ctxb"
    );
    assert_eq!(
        (&told["proven_optimal"], &told["max_calls"]),
        (&true.into(), &10.into())
    );
    assert!(told["held_out_without"].is_null());
    let plan = corehop_plan::read(Path::new(path)).unwrap();
    assert_eq!((plan.cores, plan.functions.len()), (2, 1));
    let planned = &plan.functions[0];
    assert_eq!(
        (planned.to.core(), planned.mode),
        (Some(1), corehop_plan::Mode::Call)
    );
    // The prediction in the plan equals the counts of a replay of the same requests.
    let held_out = plan.expected.unwrap().held_out;
    let after = held_out.split_fetch_misses + held_out.split_data_misses;
    let told = &found["held_out"]["split"]["l2"]["misses"];
    assert_eq!(told, &Value::from(after));
    let replayed = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["replay", "--json", "--plan", path, SAMPLE])
        .output()
        .unwrap();
    assert!(replayed.status.success(), "{replayed:?}");
}

#[test]
fn calls_are_added_to_the_best_split_where_they_make_it_better() {
    let short = ["--cores", "2", "--requests", "3", beginning()];
    let found = json(&[&short[..], &["--delegate", "1"]].concat());
    let alone = json(&[&short[..], &["--returns", "never"]].concat());
    let told = &found["delegated"];
    let misses = |of: &Value| of["searched"]["split"]["l2"]["misses"].as_u64().unwrap();
    assert!(misses(&found) <= misses(&alone));
    assert_eq!(told["held_out_without"], alone["held_out"]);
    assert_eq!(found["splits_evaluated"], alone["splits_evaluated"]);
    let modes = found["plan"].as_array().unwrap().iter();
    let modes: Vec<&str> = modes.map(|of| of["mode"].as_str().unwrap()).collect();
    let calls = told["functions"].as_array().unwrap().len();
    assert_eq!(modes[..2], ["enter", "enter"]);
    assert_eq!(modes[2..], vec!["call"; calls]);
}

#[test]
fn what_calls_are_searched_is_what_candidates_lists() {
    let found = json(&["--delegate", "1", "--requests", "3"]);
    let output = Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(["candidates", "--delegate", "--requests", "3", "--json"])
        .output()
        .unwrap();
    let listed = read(&["candidates"], &output.stdout);
    let rows = listed["candidates"].as_array().unwrap();
    let searched = rows.iter().filter(|row| row["unpatchable"].is_null());
    assert_eq!(found["delegated"]["candidates"], searched.count());
    assert_eq!(listed["max_calls"], 10);
}

#[test]
fn what_has_no_meaning_with_calls_is_refused() {
    for (more, said) in [
        (&["--objective", "throughput"][..], "--objective throughput"),
        (&["--strategy", "random"], "--strategy random"),
        (&["--returns", "auto"], "--returns auto"),
        (&["--functions", "3"], "--functions"),
        (&["--sweep"], "--sweep"),
        (
            &["--cores", "2", "--delegate-cores", "2"],
            "--delegate-cores",
        ),
    ] {
        let (code, words) = refused(&[&["--delegate", "1"], more].concat());
        assert_eq!(code, 2, "{words}");
        assert!(words.contains(said), "{words}");
    }
    let (code, words) = refused(&["--delegate-cores", "2"]);
    assert_eq!(code, 2, "{words}");
}
