//! `corehop explain` on a small server whose phases fit a core each, and not one together.

use crate::conforming;
use crate::server;
use serde_json::Value;
use std::process::{Command, Output};
use tempfile::TempDir;

/// L2s of 16 lines; a phase references ten and its code.
const MACHINE: &str = include_str!("machines/tiny.toml");

const PLAN: &str = "\
version = 1
machine = \"tiny.toml\"
trace = \"bank.trace\"
cores = 2
seed = 1
function = [
    { module = \"/usr/bin/server\", build_id = \"0a1b\", offset = 0, symbol = \"parse\", \
core = 1, mode = \"enter\" },
    { module = \"/usr/bin/server\", build_id = \"0a1b\", offset = 64, symbol = \"execute\", \
core = 0, mode = \"enter\" },
]
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    server::record(&folder.path().join("bank.trace")).unwrap();
    std::fs::write(folder.path().join("tiny.toml"), MACHINE).unwrap();
    std::fs::write(folder.path().join("split.toml"), PLAN).unwrap();
    folder
}

fn explain(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(["explain", "bank.trace", "--plan", "split.toml"]);
    let command = command.args(arguments).current_dir(folder.path());
    command.output().expect("the command starts")
}

fn said(folder: &TempDir, arguments: &[&str]) -> String {
    let output = explain(folder, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_plan_is_told_by_core_by_function_and_by_hop() {
    insta::assert_snapshot!(said(&folder(), &[]));
}

#[test]
fn scripts_find_the_same_figures() {
    let object = conforming::read(&["explain"], said(&folder(), &["--json"]));
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    let expected = [
        "alternatives",
        "baseline",
        "break_even_hop_cycles",
        "connections_in_trace",
        "cores",
        "hop_cost_cycles",
        "machine",
        "movers",
        "requests",
        "split",
        "think_time_cycles",
        "throughput",
        "trace",
        "warm_up",
    ];
    assert_eq!(keys, expected);
    assert_eq!(
        (&object["requests"], &object["warm_up"]),
        (&2.into(), &2.into())
    );
    // Two requests of two hops; what two phases on one core miss of 20 lines of data and code.
    assert_eq!(object["split"]["hops"], 4);
    let cores = object["cores"].as_array().unwrap();
    let misses = |of: &Value| of["counters"]["l2"]["misses"].as_u64().unwrap();
    assert_eq!(
        cores.iter().map(misses).sum::<u64>(),
        misses(&object["split"])
    );
    let lost: Vec<&Value> = cores.iter().map(|core| &core["lost_lines_to"]).collect();
    assert_eq!(
        lost,
        [&serde_json::json!([0, 0]), &serde_json::json!([2, 0])]
    );
    assert_eq!(object["alternatives"][0]["exchanged"]["name"], "commit");
}

#[test]
fn a_plan_for_another_build_is_refused_by_name() {
    let folder = folder();
    let other = PLAN.replace("0a1b", "0a1c");
    std::fs::write(folder.path().join("split.toml"), other).unwrap();
    let output = explain(&folder, &[]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("split.toml") && said.contains("0a1c"),
        "{said}"
    );
}
