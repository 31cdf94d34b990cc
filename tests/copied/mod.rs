//! A copy of the corehop that is tested, to be executed elsewhere.

use std::path::Path;
use std::process::Command;

/// Copies it by another process: no other test's child may hold a file open that is to be executed.
pub fn corehop(to: &Path) {
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_corehop")).arg(to);
    assert!(copy.status().unwrap().success());
}
