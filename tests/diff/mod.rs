//! `corehop diff`: its output for each kind of file, its refusals, and the exit codes.

mod plans;
mod refused;
mod results;
mod traces;

use crate::conforming;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `corehop diff` in `folder`.
fn diff(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(crate::BUILT);
    let command = command.current_dir(folder).arg("diff").args(words);
    command.output().expect("the command starts")
}

/// Returns the output for files that differ.
#[track_caller]
fn differing(folder: &Path, words: &[&str]) -> String {
    let output = diff(folder, words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.ends_with(" differ\n"), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the same as JSON.
#[track_caller]
fn differing_json(folder: &Path, words: &[&str]) -> Value {
    let words = [&["--json"], words].concat();
    let value = conforming::read(&["diff"], differing(folder, &words));
    assert_eq!(value["same"], false);
    value
}

/// Asserts that nothing differs, in text and in JSON.
#[track_caller]
fn assert_same(folder: &Path, words: &[&str]) {
    let output = diff(folder, words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\nnothing differs\n"), "{said}");
    let output = diff(folder, &[&["--json"], words].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let value = conforming::read(&["diff"], &output.stdout);
    assert_eq!(value["same"], true);
    assert_eq!(value["settings"], Value::Array(Vec::new()));
}

/// Returns the figure of this name in A and B.
#[track_caller]
fn figure(of: &Value, name: &str) -> [Value; 2] {
    let figures = of["figures"].as_array().unwrap();
    let found = figures.iter().find(|figure| figure["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {figures:?}"));
    ["a", "b"].map(|side| found[side].clone())
}
