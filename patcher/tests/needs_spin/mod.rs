//! The models of the hand-over (runtime/model) hold, and each of their mutations is detected.
//!
//! Tests of the runtime only see the interleavings that occur on a machine. spin explores all
//! interleavings of a model. A model without errors may be unable to find any. Each therefore has
//! mutations, with the expected result of the search for each of them.

use crate::models::{Model, model, models};
use std::path::Path;
use std::process::Command;

/// More than any model needs; the search must not exceed it.
const MOST_MEMORY_MIB: u32 = 1024;
/// Maximum length of a path.
const MOST_STEPS: u32 = 1_000_000;
/// An error is found after few states, and clearing large tables takes longer.
const FOR_MUTATIONS: [&str; 2] = ["-m100000", "-w20"];

/// Whether a search also checks for cycles in which a process waits forever although all processes
/// are scheduled.
#[derive(Clone, Copy, PartialEq)]
enum Search {
    States,
    Cycles,
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

/// Explores all states of the model, or up to the first error.
fn search(model: &Model, search: Search, mutation: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(folder.path());
        command
    };
    let mut spin = run(Path::new("spin"));
    spin.args(mutation.map(|name| format!("-D{name}")));
    if search == Search::Cycles {
        spin.arg("-DSEARCH_CYCLES");
    }
    succeed(spin.arg("-a").arg(&model.path));
    let searched: &[&str] = match search {
        Search::States => &["-DSAFETY", "-DNOCLAIM"],
        Search::Cycles => &["-DNFAIR=3"],
    };
    let mut cc = run(Path::new("cc"));
    // A full search justifies compiling with optimization; an error is found early.
    cc.arg(if mutation.is_none() { "-O1" } else { "-O0" });
    cc.args(["-w", "-o", "pan", "pan.c"]).args(searched);
    succeed(cc.arg(format!("-DMEMLIM={MOST_MEMORY_MIB}")));
    let mut pan = run(&folder.path().join("pan"));
    pan.arg("-n");
    match mutation {
        Some(_) => pan.args(FOR_MUTATIONS),
        None => pan.arg(format!("-m{MOST_STEPS}")),
    };
    if search == Search::Cycles {
        pan.args(["-a", "-f"]);
    }
    succeed(&mut pan)
}

fn holds(model: &Model, kind: Search) {
    let said = search(model, kind, None);
    let name = &model.name;
    assert!(said.contains("errors: 0"), "{name}: {said}");
    // The search was incomplete, for lack of memory or depth.
    assert!(!said.contains("Search not completed"), "{name}: {said}");
    assert!(!said.contains("too small"), "{name}: {said}");
}

fn holds_and_notices(name: &str) {
    let model = model(name);
    holds(&model, Search::States);
    if model.text.contains("\nltl ") {
        holds(&model, Search::Cycles);
    }
    assert!(!model.mutations.is_empty(), "{name}");
    for (mutation, error) in &model.mutations {
        let kind = match error.as_str() {
            "acceptance cycle" => Search::Cycles,
            _ => Search::States,
        };
        let said = search(&model, kind, Some(mutation));
        let found = said.contains(&format!("pan:1: {error}"));
        assert!(found, "{name}: {mutation} is not found: {said}");
    }
}

#[test]
fn a_run_queue_loses_nobody_and_no_wake_up() {
    holds_and_notices("run_queue");
}

#[test]
fn one_kernel_thread_runs_a_fiber_at_a_time() {
    holds_and_notices("handover");
}

#[test]
fn whoever_waits_behind_a_blocked_fiber_runs() {
    holds_and_notices("stalls");
}

#[test]
fn a_thread_that_is_called_gets_home_with_its_signal() {
    holds_and_notices("home");
}

#[test]
fn a_ring_is_passed_on_and_loses_no_result() {
    holds_and_notices("ring");
}

#[test]
fn carriers_begin_and_end_with_nobody_queued() {
    holds_and_notices("pool");
}

#[test]
fn every_model_is_searched() {
    let names: Vec<String> = models().into_iter().map(|model| model.name).collect();
    let searched = ["handover", "home", "pool", "ring", "run_queue", "stalls"];
    assert_eq!(names, searched);
}
