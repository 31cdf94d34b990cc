//! `corehop explain` on a small server: each phase fits one core, but all phases together do not.

use crate::conforming;
use crate::server;
use serde_json::Value;
use std::process::{Command, Output};
use tempfile::TempDir;

/// L2s of 16 lines; a phase accesses ten lines and its code.
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
    // Two requests of two hops, and the misses of two phases on one core with 20 lines of data and
    // code.
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

/// The result of a search on held-out requests equals the explanation of its plan.
#[test]
fn the_plan_of_a_search_is_counted_on_the_requests_that_judged_it() {
    let folder = tempfile::tempdir().unwrap();
    server::record_requests(&folder.path().join("bank.trace"), 9).unwrap();
    std::fs::write(folder.path().join("tiny.toml"), MACHINE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(["partition", "bank.trace", "--cores", "2", "--seed", "7"]);
    let command = command.args(["--requests", "2", "--machine", "tiny.toml"]);
    let command = command.args(["-o", "split.toml", "--json", "--force"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let found = conforming::read(&["partition"], &output.stdout);
    let explained = conforming::read(
        &["explain"],
        said(&folder, &["--json", "--machine", "tiny.toml"]),
    );
    assert_eq!(
        (&explained["requests"], &explained["warm_up"]),
        (&4.into(), &3.into())
    );
    assert_eq!(
        explained["baseline"]["counters"],
        found["held_out"]["baseline"]
    );
    assert_eq!(explained["split"]["counters"], found["held_out"]["split"]);
    assert_eq!(
        explained["break_even_hop_cycles"],
        found["break_even_hop_cycles"]
    );
    assert!(
        said(&folder, &["--machine", "tiny.toml"])
            .contains("2 requests that the plan was searched on are left out")
    );
    // With all requests, half of them warm up the caches if requested.
    let all = conforming::read(
        &["explain"],
        said(
            &folder,
            &["--json", "--warm-up", "4", "--machine", "tiny.toml"],
        ),
    );
    assert_eq!((&all["requests"], &all["warm_up"]), (&5.into(), &4.into()));
}

#[test]
fn a_machine_that_only_its_file_describes_is_asked_for() {
    let folder = folder();
    let named = PLAN.replace("machine = \"tiny.toml\"", "machine = \"tiny\"");
    std::fs::write(folder.path().join("split.toml"), named).unwrap();
    let output = explain(&folder, &[]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("corehop: split.toml: "), "{said}");
    assert!(said.contains("the file of 'tiny' with --machine"), "{said}");
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
