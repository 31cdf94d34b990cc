//! Output of a program: stored in a file, and read again to explain a failure.

use crate::Error;
use std::fs::File;
use std::io;
use std::path::Path;

/// Maximum lines of a failed program's output to show.
const SHOWN_LINES: usize = 8;

/// Creates a new file for a program's output.
///
/// # Errors
/// [`Error::Unwritable`].
pub fn create(path: &Path) -> Result<File, Error> {
    File::create(path).map_err(|error| unwritable(path, error))
}

/// Returns the error for output that cannot be stored.
pub fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Unwritable {
        path: path.into(),
        source,
    }
}

/// Returns a program's output.
pub fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the last lines of a program's output.
pub fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    match lines.is_empty() {
        true => vec!["it printed nothing".into()],
        false => lines[from..].iter().map(ToString::to_string).collect(),
    }
}
