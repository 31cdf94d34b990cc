//! Plans of functions whose core depends on an argument: patched, and replayed if the trace has
//! arguments.

use crate::conforming;
use std::path::Path;
use std::process::{Command, Output};

const PLAN: &str = r#"
version = 2
machine = "xeon-e5-2620-v4"
trace = "none"
cores = 2
seed = 1

[[function]]
module = "/usr/sbin/mariadbd"
build_id = "0a1b"
offset = 0x40
symbol = "commit"
by = "argument 1"
mode = "enter"
"#;

fn corehop(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corehop"))
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// A plan for a function in the bundled sample.
fn plan_of_sample(folder: &Path) -> String {
    let json = |words: &[&str]| -> serde_json::Value {
        conforming::read(words, corehop(folder, words).stdout)
    };
    let listed = json(&["candidates", "--json"]);
    let function = &listed["candidates"][0];
    let info = json(&["info", "trace", "--json"]);
    let mut modules = info["modules"].as_array().unwrap().iter();
    let module = modules.find(|module| module["path"] == function["module"]);
    let build_id = module.unwrap()["build_id"].as_str().unwrap();
    PLAN.replace("/usr/sbin/mariadbd", function["module"].as_str().unwrap())
        .replace("0a1b", build_id)
        .replace("0x40", &function["offset"].to_string())
}

/// Expects exit code 3 from each command, with this reason and no output.
fn refused(folder: &Path, ways: &[&[&str]], reason: &str) {
    for words in ways {
        let output = corehop(folder, words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert_eq!(output.stdout, b"", "{words:?}");
        assert!(said.contains(reason), "{words:?}: {said}");
    }
}

#[test]
fn a_trace_that_tells_no_arguments_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sample = corehop(folder.path(), &["sample", "mariadb-tpcc", "-o", "trace"]);
    assert_eq!(sample.status.code(), Some(0));
    let plan = plan_of_sample(folder.path());
    std::fs::write(folder.path().join("split.toml"), plan).unwrap();
    let ways: [&[&str]; 6] = [
        &["explain", "trace", "--plan", "split.toml"],
        &["report", "split.toml", "trace", "-o", "report.html"],
        &["replay", "trace", "--plan", "split.toml"],
        &["replay", "trace", "--plan", "split.toml", "--json"],
        &["replay", "trace", "--plan", "split.toml", "--detail"],
        &["replay", "trace", "--plan", "split.toml", "--timed"],
    ];
    let reason = "the plan selects a core by an argument, but the trace has no arguments";
    refused(folder.path(), &ways, reason);
    assert!(!folder.path().join("report.html").exists());
    let reason = "the trace has no arguments of functions";
    refused(
        folder.path(),
        &[&["candidates", "trace", "--by-argument"]],
        reason,
    );
}

#[test]
fn patch_tells_what_a_function_goes_by() {
    let folder = tempfile::tempdir().unwrap();
    let program = "/usr/bin/memcached";
    let analysis = corehop_patcher::Analysis::of(Path::new(program)).unwrap();
    let mut functions = analysis.functions().iter();
    let safe = functions.find(|f| analysis.unsafe_reason(f.offset).is_none());
    let plan = PLAN
        .replace("/usr/sbin/mariadbd", program)
        .replace("0a1b", analysis.build_id().unwrap())
        .replace("0x40", &safe.unwrap().offset.to_string())
        .replace("argument 1", "argument 4");
    std::fs::write(folder.path().join("split.toml"), plan).unwrap();
    let words = ["patch", "--plan", "split.toml", "-o", "patched"];
    let output = corehop(folder.path(), &words);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("  by argument 4  commit\n"), "{said}");
    let words = [
        "patch",
        "--plan",
        "split.toml",
        "-o",
        "patched",
        "--force",
        "--json",
    ];
    let output = corehop(folder.path(), &words);
    let said = conforming::read(&words, &output.stdout);
    let hook = &said["files"][0]["hooks"][0];
    assert_eq!(
        (&hook["by"], &hook["core"]),
        (&"argument 4".into(), &().into())
    );
    let output = corehop(folder.path(), &["patch", "--verify", "patched"]);
    assert_eq!(output.status.code(), Some(0));
}
