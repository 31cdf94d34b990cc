//! `corehop candidates` on a small trace of two threads, and compared with `partition` on the
//! sample.

use crate::conforming;
use crate::server;
use serde_json::Value;
use std::process::Command;

/// Returns the output of the subcommand.
fn said(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let output = command
        .args(arguments)
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    conforming::read(arguments, said(arguments))
}

#[test]
fn calls_are_counted_by_request_on_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.trace");
    server::record(&path).unwrap();
    let path = path.to_str().unwrap();
    let text = said(&["candidates", path, "--all-requests", "--group-within", "5"]);
    insta::assert_snapshot!(text.replace(path, "bank.trace"));
}

#[test]
fn the_table_is_of_what_partition_searches() {
    let three = ["--requests", "3", "--json"];
    let listed = json(&[&["candidates"], &three[..]].concat());
    let searched = json(&[&["partition", "--cores", "2"], &three[..]].concat());
    let rows = listed["candidates"].as_array().unwrap();
    let patchable = rows.iter().filter(|row| row["unpatchable"].is_null());
    assert_eq!(searched["candidates"], patchable.count());
    assert_eq!(searched["groups"], listed["groups"]);
}

#[test]
fn every_row_keeps_the_rule_it_was_asked_for() {
    let listed = json(&[
        "candidates",
        "--json",
        "--max-calls",
        "2",
        "--min-share",
        "0.9",
    ]);
    let rows = listed["candidates"].as_array().unwrap();
    let most = |row: &Value| row["calls"]["most"].as_u64().unwrap();
    assert!(rows.iter().all(|row| most(row) <= 2), "{rows:?}");
    assert!(rows.iter().any(|row| most(row) == 2), "{rows:?}");
    assert!(rows.iter().all(|row| row["share"].as_f64() >= Some(0.9)));
}
