//! `corehop run` as a shell sees it: it becomes the program, or reports by its exit code why not.

use crate::memcached;
use crate::memcached::SERVER;
use std::path::Path;
use std::process::{Command, Output};

fn corehop(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command
        .current_dir(folder)
        .arg("run")
        .args(arguments)
        .env("COREHOP_BACKEND", "count")
        .env("COREHOP_STATS", "statistics");
    command.output().unwrap()
}

#[test]
fn the_program_runs_as_without_it_and_is_hooked() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, _) = memcached::plan(folder.path());
    let plan = plan.to_str().unwrap();
    let plain = Command::new(SERVER).arg("-h").output().unwrap();
    for command in [SERVER, "memcached"] {
        let hooked = corehop(folder.path(), &["--plan", plan, "--", command, "-h"]);
        assert_eq!(hooked.status.code(), plain.status.code());
        let said = |output: &[u8]| String::from_utf8_lossy(output).into_owned();
        assert_eq!(said(&hooked.stdout), said(&plain.stdout));
        assert_eq!(said(&hooked.stderr), "");
        let statistics = folder.path().join("statistics");
        let text = std::fs::read(&statistics).unwrap();
        let statistics: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(statistics["functions"].as_array().unwrap().len(), 3);
        assert_eq!(statistics["functions"][0]["module"], "memcached");
    }
    let wrong = corehop(folder.path(), &["--plan", plan, "--", SERVER, "--nonsense"]);
    assert_eq!(wrong.status.code(), Some(1), "memcached's own exit code");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nonsense"));
}

#[test]
fn a_plan_without_functions_is_refused_by_its_name_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let plan = "version = 1\nmachine = 'm'\ntrace = 't'\ncores = 2\nseed = 1\n";
    std::fs::write(folder.path().join("empty.toml"), plan).unwrap();
    let run = &["run", "--plan", "empty.toml", "--", SERVER, "-h"][..];
    let measure = &["measure", "--plan", "empty.toml", "--", SERVER, "-h"];
    let patch = &["patch", "--plan", "empty.toml", "-o", "patched"];
    for arguments in [run, measure, patch] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
        let output = command.current_dir(folder.path()).args(arguments).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = "corehop: empty.toml: the plan names no function\n  \
                        remedy: search one with `corehop partition`\n";
        assert_eq!(said, expected, "{arguments:?}");
        assert_eq!(output.status.code(), Some(5), "{arguments:?}");
    }
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "the plan alone");
}

#[test]
fn every_way_not_to_run_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, _) = memcached::plan(folder.path());
    let plan = plan.to_str().unwrap();
    let code = |arguments: &[&str]| corehop(folder.path(), arguments).status.code();
    assert_eq!(code(&[]), Some(2));
    assert_eq!(code(&["--plan", plan]), Some(2), "no command");
    for calls in ["write", "open@batch", "write@64"] {
        let unpostable = ["--system-calls", calls, "--", SERVER, "-h"];
        assert_eq!(code(&unpostable), Some(2), "{calls}");
    }
    assert_eq!(code(&["--plan", "/nowhere", "--", SERVER]), Some(3));
    assert_eq!(code(&["--plan", plan, "--", "/nowhere"]), Some(3));
    assert_eq!(code(&["--plan", plan, "--", "no-such-program"]), Some(3));
    assert_eq!(code(&["--plan", plan, "--", plan]), Some(3), "not ELF");
    assert_eq!(code(&["--plan", plan, "--", "/bin/true"]), Some(5));
    let moved = std::fs::read_to_string(plan).unwrap();
    let moved = moved.replace("build_id = '", "build_id = 'ff");
    std::fs::write(plan, moved).unwrap();
    assert_eq!(code(&["--plan", plan, "--", SERVER]), Some(5));
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "the plan alone");
    let plain = Command::new(SERVER).arg("-h").output().unwrap();
    for plan in [plan, "/nowhere"] {
        let asked = ["--fallback-unpatched", "--plan", plan, "--", SERVER, "-h"];
        let unhooked = corehop(folder.path(), &asked);
        assert_eq!(unhooked.status.code(), plain.status.code());
        assert_eq!(unhooked.stdout, plain.stdout);
        let said = String::from_utf8_lossy(&unhooked.stderr);
        assert!(said.ends_with(": starting it without hooks\n"), "{said}");
    }
    let missing = [
        "--fallback-unpatched",
        "--plan",
        plan,
        "--",
        "no-such-program",
    ];
    assert_eq!(code(&missing), Some(3));
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "no statistics either");
}

#[test]
fn system_calls_are_posted_without_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["--system-calls", "write@yield", "--", SERVER, "-h"];
    let posting = corehop(folder.path(), &asked);
    let plain = Command::new(SERVER).arg("-h").output().unwrap();
    assert_eq!(posting.stdout, plain.stdout);
    let said = String::from_utf8_lossy(&posting.stderr);
    assert!(said.contains("only COREHOP_BACKEND=carrier"), "{said}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command
        .current_dir(folder.path())
        .arg("run")
        .args(asked)
        .env("COREHOP_STATS", "statistics");
    let posting = command.output().unwrap();
    assert_eq!(posting.stdout, plain.stdout);
    assert_eq!(String::from_utf8_lossy(&posting.stderr), "");
    let statistics = std::fs::read(folder.path().join("statistics")).unwrap();
    let statistics: serde_json::Value = serde_json::from_slice(&statistics).unwrap();
    assert_eq!(statistics["system_calls"]["by"], "yield");
    assert_eq!(statistics["system_calls"]["calls"][0]["name"], "write");
    let code = |arguments: &[&str]| corehop(folder.path(), arguments).status.code();
    assert_eq!(code(&["--", SERVER]), Some(2), "neither plan nor calls");
    let program = folder.path().join("not-elf");
    std::fs::write(&program, "text").unwrap();
    let program = program.to_str().unwrap();
    assert_eq!(code(&["--system-calls", "read@1", "--", program]), Some(3));
}
