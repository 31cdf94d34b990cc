//! Paths in JSON and in commands that a message shows.

use std::path::Path;

/// Returns a path as text: JSON has no bytes, so those that are not UTF-8 are replaced.
pub fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Writes a path like [`lossy`], for serde's `serialize_with`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
