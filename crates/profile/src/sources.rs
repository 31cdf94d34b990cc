//! The costs of source lines by file, to print them next to the source.
//!
//! The cost of a line is the sum of all rows of the view by line whose innermost known line it is.
//! So an inlined line has the cost of all its copies, and a call has no cost of what it calls.

use crate::cost::Cost;
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};

/// A source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as it was given to the compiler.
    pub path: String,
    /// Paths of the binaries that have code of this file.
    pub modules: BTreeSet<String>,
    /// The costs of its lines, numbered from 1.
    pub lines: BTreeMap<u32, Cost>,
}

impl SourceFile {
    /// Returns the sum of all lines.
    #[must_use]
    pub fn total(&self) -> Cost {
        self.lines.values().copied().sum()
    }
}

/// All source files of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The files, by path.
    pub files: Vec<SourceFile>,
    /// The cost of code whose line is not known.
    pub without_line: Cost,
}

impl Sources {
    /// Groups a view by line.
    #[must_use]
    pub fn of(view: &View) -> Sources {
        let mut files = BTreeMap::<&str, SourceFile>::new();
        let mut without_line = Cost::default();
        for row in &view.rows {
            let Some((path, line)) = row.place.source() else {
                without_line += row.cost;
                continue;
            };
            let file = files.entry(path).or_insert_with(|| SourceFile {
                path: path.to_owned(),
                ..SourceFile::default()
            });
            *file.lines.entry(line).or_default() += row.cost;
            file.modules.extend(row.place.module.clone());
        }
        Sources {
            files: files.into_values().collect(),
            without_line,
        }
    }
}
