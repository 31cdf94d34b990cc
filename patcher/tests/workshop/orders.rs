//! Orders to a program that runs.

use std::path::Path;

/// Writes an order into a file for COREHOP_CONTROL, whole: the runtime sees all of it or what was
/// there.
pub fn order(file: &Path, text: &str) {
    let beside = file.with_extension("part");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, file).unwrap();
}
