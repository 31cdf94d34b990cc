//! Errors name the problem and the remedy, with the documented exit codes.

use crate::server::Server;
use std::process::Command;

fn failure(server: &Server, arguments: &[&str]) -> (Option<i32>, String) {
    let output = server.tpcc(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), message)
}

#[test]
fn a_database_must_be_loaded_once_and_only_once() {
    let server = Server::start();
    for subcommand in ["run", "check", "checksum"] {
        let (code, message) = failure(&server, &[subcommand]);
        assert_eq!(code, Some(3), "{message}");
        assert!(message.contains("corehop-tpcc load"), "{message}");
    }
    server.succeed(&["load", "--scale", "100"]);
    let (code, message) = failure(&server, &["load", "--scale", "100"]);
    assert_eq!(code, Some(3), "{message}");
    assert!(message.contains("--force"), "{message}");
    server.succeed(&["load", "--scale", "100", "--force"]);
}

#[test]
fn a_run_ends_when_its_time_is_over() {
    let server = Server::start();
    server.succeed(&["load", "--scale", "100"]);
    let long = [
        "run",
        "--transactions",
        "1000000000",
        "--max-seconds",
        "5",
        "--json",
    ];
    let output = server.tpcc(&long);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{message}");
    assert!(message.contains("raise --max-seconds"), "{message}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["committed"].as_u64() > Some(0));
    server.succeed(&["check"]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    for arguments in [
        &["run", "--socket", "/nowhere/socket"][..],
        &["wait", "--socket", "/nowhere/socket", "--max-seconds", "0"][..],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_corehop-tpcc"))
            .args(arguments)
            .output()
            .expect("corehop-tpcc starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{message}");
        assert!(message.contains("/nowhere/socket"), "{message}");
    }
}
