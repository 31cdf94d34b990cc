//! Names of functions in tables, which have limited space.

/// Maximum number of characters shown.
const LONGEST: usize = 60;

/// Returns the start of a name, truncated if it is too long for a table: the end of a template's
/// name contains little information.
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
