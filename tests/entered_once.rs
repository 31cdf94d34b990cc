//! `corehop functions` on a small trace of two threads.

use crate::conforming;
use crate::server;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

fn recorded() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.trace");
    server::record(&path).unwrap();
    (folder, path)
}

fn functions(arguments: &[&str]) -> Output {
    let (_folder, path) = recorded();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    let command = command.arg("functions").arg(&path).args(arguments);
    let mut output = command.output().expect("the command starts");
    let text = String::from_utf8(output.stdout).unwrap();
    output.stdout = text.replace(path.to_str().unwrap(), "bank.trace").into();
    output
}

fn said(arguments: &[&str]) -> String {
    let output = functions(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_every_request_enters_once_is_listed_in_the_order_of_entry() {
    insta::assert_snapshot!(said(&[]));
}

#[test]
fn scripts_get_what_request_at_takes() {
    let told: Value = conforming::read(&["functions"], said(&["--json", "--top", "1"]));
    let keys = ["requests", "entered_once", "request_at"].map(|key| told[key].clone());
    assert_eq!(keys, [json!(4), json!(4), json!("parse")]);
    let functions = json!([{
        "request_at": "/usr/bin/server+0x0", "name": "parse", "symbol": "parse",
        "module": "/usr/bin/server", "offset": 0, "share": 1.0, "position": 0.0,
        "sends": false, "unpatchable": null,
    }]);
    assert_eq!(told["functions"], functions);
    // Half of the requests enter `flush`.
    let told: Value = conforming::read(&["functions"], said(&["--json", "--min-share", "0.5"]));
    assert_eq!(told["entered_once"], 5);
}
