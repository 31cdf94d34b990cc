//! Orders to a running program.

use std::path::Path;

/// Writes an order for COREHOP_CONTROL atomically: the runtime reads either the complete new order
/// or the old one.
pub fn order(file: &Path, text: &str) {
    let beside = file.with_extension("part");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, file).unwrap();
}
