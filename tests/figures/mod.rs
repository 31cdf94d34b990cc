//! What a command printed as JSON; where it printed nothing, what it said instead.

use crate::conforming;
use serde_json::Value;
use std::process::Output;

/// The figures of `corehop COMMAND --json`, by the command's schema.
#[track_caller]
pub fn of(command: &str, output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.stdout.is_empty(), "{said}");
    conforming::read(&[command], &output.stdout)
}
