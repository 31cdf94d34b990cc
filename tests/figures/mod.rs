//! Reads the JSON output of a command; without output, fails with its message.

use crate::conforming;
use serde_json::Value;
use std::process::Output;

/// Returns the figures of `corehop COMMAND --json`, validated by the command's schema.
#[track_caller]
pub fn of(command: &str, output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.stdout.is_empty(), "{said}");
    conforming::read(&[command], &output.stdout)
}
