//! Runs plans with every kind of function through all commands that read a plan and a trace.
//! `by_argument` and the tests of recordings cover the kinds that need a trace with arguments.

use crate::server;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The content of a plan: each function's symbol, offset, and keys, and the expected output of
/// `explain` by core.
struct Kind {
    functions: &'static [(&'static str, u32, &'static str)],
    entering: [&'static str; 2],
    /// Why its search space is not shown, if so.
    no_space: Option<&'static str>,
}

const NO_CORES: &str = "--full requires a plan in which each function has a core";
const TOO_FEW: &str = "--full requires a plan with a function for each core: it has 1 function for \
                       2 cores";

const KINDS: [Kind; 5] = [
    Kind {
        functions: &[
            ("execute", 64, "core = 0\nmode = \"enter\""),
            ("commit", 320, "core = 1\nmode = \"enter\""),
        ],
        entering: ["  execute", "  commit"],
        no_space: None,
    },
    Kind {
        functions: &[("execute", 64, "core = 1\nmode = \"call\"")],
        entering: ["", "  execute and back"],
        no_space: Some(TOO_FEW),
    },
    Kind {
        functions: &[("execute", 64, "core = 1\nmode = \"enter\"")],
        entering: ["", "  execute"],
        no_space: Some(TOO_FEW),
    },
    Kind {
        functions: &[
            ("parse", 0, "core = 0\nmode = \"enter\""),
            ("execute", 64, "core = 1\ncall = 1\nmode = \"enter\""),
        ],
        entering: ["  parse", "  execute at call 1"],
        no_space: Some(NO_CORES),
    },
    Kind {
        functions: &[
            ("parse", 0, "core = 0\nmode = \"enter\""),
            ("log", 128, "core = 1\ncall = 1\nmode = \"enter\""),
            ("log", 128, "core = 0\ncall = 2\nmode = \"enter\""),
        ],
        entering: ["  parse, log at call 2", "  log at call 1"],
        no_space: Some(NO_CORES),
    },
];

fn folder(kind: &Kind) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    server::record(&folder.path().join("bank.trace")).unwrap();
    let machine = include_str!("machines/tiny.toml");
    std::fs::write(folder.path().join("tiny.toml"), machine).unwrap();
    let mut plan = String::from(
        "version = 2\nmachine = \"tiny.toml\"\ntrace = \"bank.trace\"\ncores = 2\nseed = 1\n\
         [request]\nmodule = \"/usr/bin/server\"\nbuild_id = \"0a1b\"\noffset = 0\n\
         symbol = \"parse\"\n",
    );
    for (symbol, offset, keys) in kind.functions {
        plan += "[[function]]\nmodule = \"/usr/bin/server\"\nbuild_id = \"0a1b\"\n";
        plan += &format!("offset = {offset}\nsymbol = \"{symbol}\"\n{keys}\n");
    }
    std::fs::write(folder.path().join("split.toml"), plan).unwrap();
    folder
}

fn corehop(folder: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.args(words).current_dir(folder.path());
    command.output().expect("the command starts")
}

fn said(folder: &TempDir, words: &[&str]) -> String {
    let output = corehop(folder, words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_kind_is_replayed_and_explained_with_what_enters_each_core() {
    for kind in &KINDS {
        let folder = folder(kind);
        let replay = ["replay", "bank.trace", "--plan", "split.toml"];
        for more in [&["--json"][..], &["--detail"], &["--timed"], &[]] {
            said(&folder, &[&replay[..], more].concat());
        }
        let explained = said(&folder, &["explain", "bank.trace", "--plan", "split.toml"]);
        let mut lines = explained.lines();
        let head = lines.find(|line| line.ends_with("  entering"));
        let column = head.unwrap().find("  entering").unwrap();
        let entering: Vec<&str> = lines
            .take(2)
            .map(|line| line[column..].trim_end())
            .collect();
        assert_eq!(entering, kind.entering, "{explained}");
    }
}

#[test]
fn every_kind_has_its_keys_in_the_report_and_a_space_or_the_reason_why_not() {
    for kind in &KINDS {
        let folder = folder(kind);
        said(&folder, &["report", "split.toml", "-o", "page.html"]);
        let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        for (symbol, _, keys) in kind.functions {
            let keys = format!("symbol = \"{symbol}\"\n{keys}").replace('"', "&quot;");
            assert!(page.contains(&keys), "{keys}");
        }
        let full = ["report", "split.toml", "-o", "full.html", "--full"];
        let Some(why) = kind.no_space else {
            said(&folder, &full);
            continue;
        };
        let output = corehop(&folder, &full);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let expected = format!("corehop: {why}\n  remedy: leave --full out\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
        assert!(!folder.path().join("full.html").exists());
    }
}
