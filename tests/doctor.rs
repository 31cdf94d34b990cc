//! `corehop doctor` as a shell sees it: every check has a line, and everything missing has a
//! remedy.

use crate::conforming;
use crate::plugin::build_plugins;
use corehop_recorder::tools;
use serde_json::Value;
use std::process::{Command, Output};

const CHECKS: [&str; 20] = [
    "qemu",
    "plugin",
    "recording",
    "qemu 10",
    "machine",
    "symbolizer",
    "cpus",
    "smt",
    "l3",
    "neighbors",
    "caches",
    "fsgsbase",
    "rseq",
    "shadow stack",
    "counters",
    "huge pages",
    "code in memory",
    "io_uring",
    "memory",
    "disk",
];

/// Returns the checks of this machine. QEMU 10 is no separate check if recordings use it anyway.
fn expected() -> Vec<&'static str> {
    let qemu = tools::qemu().unwrap();
    let is_newer = qemu.path == tools::built_qemu();
    let names = CHECKS.into_iter();
    names
        .filter(|&name| !is_newer || name != "qemu 10")
        .collect()
}

fn doctor(environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.arg("doctor").args(arguments);
    command.envs(environment.iter().copied()).output().unwrap()
}

fn checks(output: &Output) -> Vec<Value> {
    let told = conforming::read(&["doctor"], &output.stdout);
    assert_eq!(told["ok"], output.status.success());
    told["checks"].as_array().unwrap().clone()
}

#[test]
fn every_check_is_told_to_people_and_to_scripts() {
    build_plugins();
    let expected = expected();
    let output = doctor(&[], &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let checks = checks(&output);
    let names: Vec<&Value> = checks.iter().map(|check| &check["name"]).collect();
    assert_eq!(names, expected);
    for check in &checks {
        assert_eq!(check["remedy"].is_null(), check["state"] == "ok", "{check}");
    }
    let said = doctor(&[], &[]);
    let said = String::from_utf8(said.stdout).unwrap();
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, name) in lines.iter().zip(expected) {
        let rest = line.split_once(' ').unwrap().1.trim_start();
        assert!(rest.starts_with(name), "{line}");
    }
}

#[test]
fn without_its_tools_recording_is_missing_with_remedies_and_an_exit_code() {
    let environment = [
        ("COREHOP_QEMU", "/nowhere/qemu"),
        ("COREHOP_QEMU_PLUGIN", "/nowhere/plugin"),
        ("COREHOP_SYMBOLIZER", "/nowhere/symbolizer"),
    ];
    let output = doctor(&environment, &["--json"]);
    assert_eq!(output.status.code(), Some(6));
    let checks = checks(&output);
    let missing = checks.iter().filter(|check| check["state"] == "missing");
    let missing: Vec<&Value> = missing.collect();
    let names: Vec<&Value> = missing.iter().map(|check| &check["name"]).collect();
    assert_eq!(names, ["qemu", "plugin", "symbolizer"]);
    for check in missing {
        assert!(
            check["found"].as_str().unwrap().contains("/nowhere/"),
            "{check}"
        );
        assert!(!check["remedy"].as_str().unwrap().is_empty());
    }
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("missing on this machine: qemu, plugin, symbolizer"),
        "{said}"
    );
}

/// Returns the findings about a program, without those about the machine.
fn of_program(program: &str) -> Vec<(Value, Value)> {
    let checks = checks(&doctor(&[], &[program, "--json"]));
    let own = checks.iter().filter(|check| check["name"] == "program");
    let said = own.map(|check| (check["state"].clone(), check["found"].clone()));
    said.collect()
}

#[test]
fn a_program_that_imports_what_carriers_refuse_is_named_with_the_function() {
    let apt = "/usr/lib/apt/methods/http";
    let found =
        format!("carriers refuse if it installs a seccomp filter ({apt} imports seccomp_load)");
    assert!(of_program(apt).contains(&("warn".into(), found.into())));
    let found = "/usr/bin/true imports nothing that carriers refuse";
    assert_eq!(of_program("/usr/bin/true"), [("ok".into(), found.into())]);
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let output = doctor(&[], &["/nowhere/server"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("/nowhere/server"), "{said}");
    assert!(!output.status.success());
    assert!(output.stdout.is_empty());
}
