//! `corehop screen` on programs with known working sets: a shell that counts, and a Python program
//! that walks over 16 MiB.
//!
//! The machines are bundled ones, so that no verdict depends on the caches here.

use crate::figures;
use crate::interrupting::interrupt;
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Has an L2 of 2 MiB.
const MACHINE: &str = "xeon-8480";
/// Accesses only a few pages.
const SMALL: [&str; 3] = ["sh", "-c", "while :; do :; done"];
const WALKED_BYTES: u64 = 16 << 20;
/// Accesses each page of this size repeatedly; the file in its argument grows by a byte each time.
const WALK: &str = "import sys
b = bytearray(16 << 20)
while 1:
    b[::4096] = bytes(4096)
    open(sys.argv[1], 'a').write('.')";

fn screen(arguments: &[&str], command: &[&str]) -> Command {
    let mut screen = Command::new(env!("CARGO_BIN_EXE_corehop"));
    screen.args(["screen", "--json", "--machine", MACHINE]);
    screen.args(arguments);
    if !command.is_empty() {
        screen.arg("--").args(command);
    }
    screen
}

/// Runs under a load that does nothing, because these programs need none.
fn screened(seconds: &str, command: &[&str]) -> Output {
    screened_under(&format!("sleep {seconds}"), command)
}

fn screened_under(load: &str, command: &[&str]) -> Output {
    let arguments = ["--ready", "true", "--load", load];
    screen(&arguments, command).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the figure of the longest observed window.
fn longest(figures: &Value, key: &str) -> u64 {
    figures["windows"].as_array().unwrap().last().unwrap()[key]
        .as_u64()
        .unwrap()
}

#[test]
fn a_server_that_fits_one_l2_is_not_worth_recording() {
    let output = screened("3", &SMALL);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let figures = figures::of("screen", &output);
    assert_eq!(figures["verdict"], "fits");
    assert_eq!(figures["l2_bytes"], 2 << 20);
    assert_eq!(figures["windows"][0]["milliseconds"], 10);
    assert_eq!(figures["has_huge_pages"], false);
    assert!(longest(&figures, "code_bytes") > 0);
    assert!(said(&output).contains("keep the original server"));
}

#[test]
fn a_server_that_touches_more_than_an_l2_is_worth_recording() {
    let folder = tempfile::tempdir().unwrap();
    let walks = folder.path().join("walks").display().to_string();
    // Waits for this many more walks: the slower the machine, the longer is the longest window,
    // which has at least four walks.
    let load = format!(
        "count() {{ cat {walks} 2> /dev/null | wc -c; }}; before=$(count); sleep 4; \
         until [ $(count) -gt $((before + 200)) ]; do sleep 0.05; done"
    );
    let output = screened_under(&load, &["python3", "-c", WALK, &walks]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let figures = figures::of("screen", &output);
    assert_eq!(figures["verdict"], "worth recording");
    assert!(longest(&figures, "data_bytes") >= WALKED_BYTES);
    assert!(longest(&figures, "data_bytes") < 2 * WALKED_BYTES);
}

/// Ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_a_running_process_has_started_is_looked_at_too() {
    // The shell starts the walker, and ends it when its own input ends.
    let script = "python3 -c \"$0\" \"$1\" & trap 'kill $!' EXIT; read end";
    let folder = tempfile::tempdir().unwrap();
    let walks = folder.path().join("walks");
    let mut command = Command::new("sh");
    command.args(["-c", script, WALK]).arg(&walks);
    let mut shell = Running(command.stdin(Stdio::piped()).spawn().unwrap());
    while !walks.exists() {
        assert_eq!(shell.0.try_wait().unwrap(), None, "the shell goes on");
        std::thread::sleep(Duration::from_millis(10)); // waits: between looks
    }
    let number = shell.0.id().to_string();
    let output = screen(&["--pid", &number, "--seconds", "3"], &[]).output();
    drop(shell.0.stdin.take());
    shell.0.wait().unwrap();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // Its memory may be in huge pages.
    assert!(longest(&figures::of("screen", &output), "data_bytes") >= WALKED_BYTES);
}

#[test]
fn what_cannot_be_told_is_refused_with_the_reason() {
    let refused = |output: Output, code: i32, words: &str| {
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    };
    refused(screened("1", &["sleep", "1000"]), 7, "the server was idle");
    refused(screened("0", &SMALL), 7, "too soon to observe pages");
    refused(screened("1", &["false"]), 7, "the server ended");
    let none = screen(&["--pid", "2147483647"], &[]).output().unwrap();
    refused(none, 3, "there is no process 2147483647");
    let failing = ["--ready", "true", "--load", "echo gone; exit 3"];
    refused(screen(&failing, &SMALL).output().unwrap(), 7, "gone");
    let unloaded = screen(&[], &SMALL).output().unwrap();
    refused(unloaded, 2, "--load");
}

#[test]
fn an_interrupt_ends_the_server_and_its_load() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("load");
    let load = format!("echo $$ > {}; exec sleep 1000", place.display());
    let mut command = screen(&["--ready", "true", "--load", &load], &SMALL);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let number = || std::fs::read_to_string(&place).unwrap_or_default();
    interrupt(&mut child, || number().ends_with('\n'));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let process = std::path::Path::new("/proc").join(number().trim());
    assert!(!process.exists(), "the load goes on");
}
