//! A recording shows calls that the backend `carrier` does not support, at any time in the server's
//! life, and corehop reports them before it patches anything.

use crate::conforming;
use crate::recording::{Recording, compile};
use corehop_plan::carriers::ROWS;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

#[path = "../../patcher/tests/uncarried/things.rs"]
mod things;

use things::THINGS;

const SOURCE: &str = include_str!("../../patcher/tests/fixtures/uncarried.c");

/// Both functions of a request are alike, and the plan gains nothing.
const SEARCH: [&str; 6] = [
    "partition",
    "--cores",
    "2",
    "--force",
    "--group-within",
    "0",
];

/// Records the fixture, which does this before its first request.
fn recorded(thing: &str) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "server", SOURCE, &[]);
    let arguments = ["--request-at", "serve", "--", "./server", thing];
    let mut recording = Recording::start_in(folder, arguments);
    recording.trace();
    recording
}

fn corehop(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args(arguments).current_dir(folder);
    command.env_remove("COREHOP_BACKEND").output().unwrap()
}

/// Returns what `corehop partition` reports as JSON about unsupported calls; its plan is `plan`.
fn said_of(recording: &Recording) -> Value {
    let words = [&SEARCH[..], &["--json", "-o", "plan", "trace"]].concat();
    let output = corehop(recording.folder(), &words);
    assert!(output.status.success(), "{output:?}");
    conforming::read(&words, &output.stdout)["carriers"].clone()
}

#[test]
fn everything_that_is_done_is_said_by_partition_and_what_refuses_is_in_its_plan() {
    for (thing, reason) in THINGS {
        let recording = recorded(thing);
        let said = said_of(&recording);
        let seen: Vec<&Value> = said
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["seen"] == true)
            .collect();
        let row = ROWS.iter().find(|row| row.reason == reason).unwrap();
        let refuses = row.said(true).starts_with("carriers refuse");
        let effect = if refuses { "refuse" } else { "stay-home" };
        let expected = json!({
            "effect": effect, "reason": reason, "seen": true, "file": null, "function": null,
        });
        assert_eq!(seen, [&expected], "{thing}");
        let plan = corehop_plan::read(&recording.folder().join("plan")).unwrap();
        assert_eq!(
            plan.carriers_refuse.as_deref(),
            refuses.then_some(reason),
            "{thing}"
        );
    }
}

#[test]
fn a_recorded_filter_is_said_by_partition_run_and_what_is_patched() {
    let recording = recorded("prctl");
    let folder = recording.folder();
    let said = recording.told_by(&[&SEARCH[..], &["-o", "plan"]].concat());
    let sentence = "carriers refuse: it installs a seccomp filter";
    let line = format!("            {sentence} (seen in the recording)\n");
    assert!(said.contains(&line), "{said}");
    let refused = format!("corehop: {sentence}: running without hops\n");
    let run = corehop(
        folder,
        &["run", "--plan", "plan", "--", "./server", "nothing"],
    );
    assert_eq!(String::from_utf8_lossy(&run.stderr), refused);
    assert_eq!(String::from_utf8_lossy(&run.stdout), "entered 120\n");
    let patch = corehop(
        folder,
        &["patch", "--plan", "plan", "./server", "-o", "server.hop"],
    );
    assert!(patch.status.success(), "{patch:?}");
    let run = Command::new(folder.join("server.hop"))
        .arg("nothing")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stderr), refused);
}

#[test]
fn a_program_that_imports_what_may_refuse_is_told_apart_from_one_that_does() {
    let recording = recorded("nothing");
    let said = said_of(&recording);
    let server = recording.folder().canonicalize().unwrap().join("server");
    let expected = json!([{
        "effect": "refuse",
        "reason": "it has mutexes that change their owner's priority",
        "seen": false,
        "file": server,
        "function": "pthread_mutexattr_setprotocol",
    }]);
    assert_eq!(said, expected);
    let plan = corehop_plan::read(&recording.folder().join("plan")).unwrap();
    assert_eq!(plan.carriers_refuse, None);
}

mod needs_two_cpus {
    use super::{corehop, recorded};

    #[test]
    fn a_recorded_filter_is_said_by_optimize_before_it_measures() {
        let recording = recorded("seccomp");
        let search = ["optimize", "--trace", "trace", "--load", "true"];
        let words = [&search[..], &["--", "./server", "nothing"]].concat();
        let said = corehop(recording.folder(), &words).stderr;
        let said = String::from_utf8_lossy(&said);
        let sentence = "carriers refuse: it installs a seccomp filter (seen in the recording)\n";
        assert!(said.contains(sentence), "{said}");
    }
}
