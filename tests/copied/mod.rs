//! Copies the tested corehop, to execute it elsewhere.

use std::path::Path;
use std::process::Command;

/// Copies in another process: an executable must not be open for writing in a child of another
/// test.
pub fn corehop(to: &Path) {
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_corehop")).arg(to);
    assert!(copy.status().unwrap().success());
}
