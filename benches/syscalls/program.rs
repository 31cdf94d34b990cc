//! The small C programs of this bench: builds them, runs them on CPU 0 and reads their numbers.

use crate::patched::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds `benches/programs/<name>.c` in the folder.
pub fn build(name: &str, folder: &Path) -> Outcome<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/programs/{name}.c"));
    let output = folder.join(name);
    let mut command = Command::new("cc");
    let command = command
        .args(["-O2", "-pthread", "-o"])
        .args([&output, &source]);
    match command.status()?.success() {
        true => Ok(output),
        false => Err(format!("{name}.c does not compile").into()),
    }
}

/// Returns its output, run in its folder.
pub fn numbers(program: &Path, words: &[String]) -> Outcome<Vec<f64>> {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program).args(words);
    if let Some(folder) = program.parent() {
        command.current_dir(folder);
    }
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{}: {} {said}", program.display(), output.status).into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let numbers = printed.split_whitespace().map(str::parse);
    Ok(numbers.collect::<Result<_, _>>()?)
}
