//! Names of functions in tables, which have room for so many characters.

/// The most characters of a name that are shown.
const LONGEST: usize = 60;

/// The start of a name, cut where it is too long for a table: the end of a template's name tells
/// hardly anything.
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
