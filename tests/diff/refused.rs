//! Refusals: other files, damaged files, and pairs that cannot be compared.

use super::diff;
use crate::server;
use std::path::Path;
use tempfile::TempDir;

const PLAN: &str = "version = 1\nmachine = 'tiny'\ntrace = 't'\ncores = 2\nseed = 1\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    server::record(&path("bank.trace")).unwrap();
    std::fs::write(path("split.toml"), PLAN).unwrap();
    let mut bytes = std::fs::read(path("bank.trace")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path("damaged.trace"), bytes).unwrap();
    for (name, text) in [
        ("cut.json", "{\"tried\": [], \"chosen_by\": "),
        ("wrong.json", "{\"tried\": 1, \"chosen_by\": null}"),
        ("other.json", "{\"a\": 1}"),
        ("page.html", "<!DOCTYPE html>"),
        ("empty", " \n"),
        ("wrong.toml", "version = 1\nmachine = 3\n"),
    ] {
        std::fs::write(path(name), text).unwrap();
    }
    std::fs::write(path("bytes"), [0xff; 100]).unwrap();
    folder
}

#[track_caller]
fn refused(folder: &Path, words: &[&str], code: i32) -> String {
    let output = diff(folder, words);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn damaged_and_other_files_are_refused_by_name_with_a_remedy() {
    let folder = folder();
    for (file, said) in [
        ("damaged.trace", "damaged at entry"),
        ("cut.json", "EOF while parsing a value at line 1"),
        ("wrong.json", "invalid type: integer `1`"),
        ("other.json", "no command prints these keys"),
        ("page.html", "it looks like a page"),
        ("empty", "it is empty"),
        ("bytes", "its bytes are no text"),
        ("wrong.toml", "not a valid plan"),
        ("missing", "cannot read"),
        (".", "cannot read"),
    ] {
        let other = if file.ends_with("trace") {
            "bank.trace"
        } else {
            "split.toml"
        };
        for words in [[file, other], [other, file]] {
            let told = refused(folder.path(), &words, 3);
            assert!(told.starts_with(&format!("corehop: {file}: ")), "{told}");
            assert!(told.contains(said), "{said}: {told}");
            assert!(
                told.contains("remedy") || told.contains("corehop check"),
                "{told}"
            );
        }
    }
}

#[test]
fn files_of_different_kinds_are_refused_with_both_kinds() {
    let folder = folder();
    let replay = crate::BUILT;
    let replay = std::process::Command::new(replay)
        .current_dir(folder.path())
        .args(["replay", "--json", "bank.trace"])
        .output()
        .unwrap();
    std::fs::write(folder.path().join("replay.json"), replay.stdout).unwrap();
    for (words, said) in [
        (
            ["bank.trace", "split.toml"],
            "bank.trace is a trace, and split.toml is a plan",
        ),
        (
            ["split.toml", "replay.json"],
            "split.toml is a plan, and replay.json is a result of `corehop replay`",
        ),
    ] {
        let told = refused(folder.path(), &words, 2);
        let remedy = "  remedy: name two traces, two plans, or two JSON results of one command\n";
        assert_eq!(told, format!("corehop: {said}\n{remedy}"));
    }
}

#[test]
fn requests_that_a_trace_lacks_are_refused_with_its_name() {
    let folder = folder();
    let words = ["bank.trace", "bank.trace", "--requests", "9"];
    let told = refused(folder.path(), &words, 3);
    assert!(told.starts_with("corehop: bank.trace: "), "{told}");
}
