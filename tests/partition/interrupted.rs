//! A search that is interrupted before it has a result reports this, and leaves no files.

use crate::interrupting::interrupt;
use crate::partition::SAMPLE;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};

/// Returns whether this process has a handler for SIGINT.
fn listens(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask >> (libc::SIGINT - 1) & 1 == 1)
}

/// Returns the message of a search over the whole sample that is interrupted from the installation
/// of its handler until it ends.
fn interrupted(more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corehop"));
    command.args([
        "partition",
        "--cores",
        "6",
        "--all-requests",
        "-o",
        "plan.toml",
    ]);
    command.args(more).arg(SAMPLE).current_dir(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let process = child.id();
    interrupt(&mut child, || listens(process));
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(50)); // waits: between interrupts
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(!folder.path().join("plan.toml").exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_search_without_a_result_says_that_nothing_was_written() {
    let said = interrupted(&[]);
    assert!(said.contains("interrupted; nothing was written"), "{said}");
}

#[test]
fn a_search_with_a_checkpoint_says_how_it_goes_on() {
    let said = interrupted(&["--checkpoint", "kept"]);
    let expected = "interrupted; no result was written: the same command resumes from kept";
    assert!(said.contains(expected), "{said}");
}
