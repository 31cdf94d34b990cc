//! Plans of functions that go by an argument: patched, and refused by all that replay a trace.

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

#[test]
fn what_replays_a_trace_refuses_them_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("split.toml"), PLAN).unwrap();
    let sample = corehop(folder.path(), &["sample", "mariadb-tpcc", "-o", "trace"]);
    assert_eq!(sample.status.code(), Some(0));
    let ways: [&[&str]; 7] = [
        &["replay", "trace", "--plan", "split.toml"],
        &["replay", "trace", "--plan", "split.toml", "--json"],
        &["replay", "trace", "--plan", "split.toml", "--detail"],
        &["replay", "trace", "--segments", "split.toml", "--detail"],
        &["replay", "trace", "--plan", "split.toml", "--timed"],
        &["explain", "trace", "--plan", "split.toml"],
        &["report", "split.toml", "trace", "-o", "report.html"],
    ];
    for words in ways {
        let output = corehop(folder.path(), words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert_eq!(output.stdout, b"", "{words:?}");
        let reason = "function commit of /usr/sbin/mariadbd goes by argument 1, and a trace does \
                      not say what arguments were";
        assert!(said.contains(reason), "{words:?}: {said}");
    }
    assert!(!folder.path().join("report.html").exists());
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
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let hook = &said["files"][0]["hooks"][0];
    assert_eq!(
        (&hook["by"], &hook["core"]),
        (&"argument 4".into(), &().into())
    );
    let output = corehop(folder.path(), &["patch", "--verify", "patched"]);
    assert_eq!(output.status.code(), Some(0));
}
