//! The compared files, and whether they are equal.

use super::changes::Changes;
use super::traces::Traces;
use std::path::Path;

/// The comparison of two files.
pub struct Compared<'a> {
    /// A and B.
    pub files: [&'a Path; 2],
    /// The kind of both files, as one word for scripts.
    pub kind: &'static str,
    /// For all kinds.
    pub changes: Changes,
    /// For traces only.
    pub traces: Option<Traces>,
}

impl Compared<'_> {
    /// Returns whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.changes.is_empty() && self.traces.as_ref().is_none_or(Traces::is_same)
    }
}
