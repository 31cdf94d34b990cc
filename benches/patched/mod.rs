//! Small C programs, built by the system's compiler and patched like users' servers.
//!
//! The benches of hops share this. Patching and running are the same as those of
//! `corehop calibrate` for its own program.

#![allow(dead_code, unused_imports)] // each bench is a separate crate and uses a part of this

pub use corehop_measure::calibration::patched::{PLAN, Program};
pub use corehop_measure::calibration::samples::quartiles;

use corehop_plan::Mode;
use std::path::Path;
use std::process::Command;

/// Result with a readable error.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Builds `benches/programs/<name>.c` and hooks these functions, on cores 0 and 1.
pub fn build(name: &str, hooked: [&str; 2]) -> Outcome<Program> {
    let folder = tempfile::tempdir()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/programs/{name}.c"));
    let output = folder.path().join(name);
    let status = Command::new("cc")
        .args(["-O2", "-pthread", "-Wl,--build-id=sha1", "-o"])
        .args([&output, &source])
        .arg("-lm")
        .status()?;
    if !status.success() {
        return Err(format!("{name}.c does not compile").into());
    }
    Ok(Program::of(
        name,
        &std::fs::read(output)?,
        hooked,
        Mode::Enter,
    )?)
}
