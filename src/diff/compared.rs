//! What was compared, and whether it is the same.

use super::changes::Changes;
use super::traces::Traces;
use std::path::Path;

/// What was compared.
pub struct Compared<'a> {
    /// A and B.
    pub files: [&'a Path; 2],
    /// What both files are, in a word for scripts.
    pub kind: &'static str,
    /// Of all kinds.
    pub changes: Changes,
    /// Of traces only.
    pub traces: Option<Traces>,
}

impl Compared<'_> {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.changes.is_empty() && self.traces.as_ref().is_none_or(Traces::is_same)
    }
}
