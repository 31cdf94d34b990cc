//! What a program prints: kept in a file, and read again to say why the program failed.

use crate::Error;
use std::fs::File;
use std::io;
use std::path::Path;

/// Lines of a failed program's output that are shown.
const SHOWN_LINES: usize = 8;

/// A new file for what a program prints.
///
/// # Errors
/// [`Error::Unwritable`].
pub fn create(path: &Path) -> Result<File, Error> {
    File::create(path).map_err(|error| unwritable(path, error))
}

/// What a program prints cannot be kept.
pub fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Unwritable {
        path: path.into(),
        source,
    }
}

/// What a program printed.
pub fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The end of what a program printed, by line.
pub fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    match lines.is_empty() {
        true => vec!["it printed nothing".into()],
        false => lines[from..].iter().map(ToString::to_string).collect(),
    }
}
