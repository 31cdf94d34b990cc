//! Known calls that the workers of the backend `carrier` cannot make for a thread.
//!
//! A recording shows what the server did. For calls that it does not show, the imports of the
//! server's files are a hint: a program may call a function that it imports. Files that no longer
//! exist are ignored, and so are files of another build than the trace.

use corehop_partitioner::carriers::seen;
use corehop_patcher::Imports;
use corehop_plan::carriers::{Effect, ROWS, Row};
use corehop_recorder::libraries_of;
use corehop_traces::Trace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One known call.
pub struct Known {
    row: &'static Row,
    /// The file and the function that it imports; `None` if the recording shows the call.
    imported: Option<(PathBuf, &'static str)>,
}

/// Returns what a trace shows, or what the imports of its files suggest.
pub fn of_trace(trace: &Trace) -> Vec<Known> {
    let modules = trace.modules().iter();
    let files = modules.filter_map(|module| {
        let file = PathBuf::from(&module.path);
        let imports = Imports::of(&file).ok()?;
        let is_it = imports.build_id() == Some(&module.build_id);
        is_it.then_some((file, imports))
    });
    known(&seen(trace).collect::<Vec<_>>(), &files.collect::<Vec<_>>())
}

/// Returns what the imports of a program and its libraries suggest.
pub fn of_program(program: &Path) -> Vec<Known> {
    let files = std::iter::once(program.to_path_buf()).chain(libraries_of(program));
    let files = files.filter_map(|file| Some((file.clone(), Imports::of(&file).ok()?)));
    known(&[], &files.collect::<Vec<_>>())
}

fn known(seen: &[&'static Row], files: &[(PathBuf, Imports)]) -> Vec<Known> {
    let of_row = |row: &'static Row| {
        if seen.iter().any(|seen| std::ptr::eq(*seen, row)) {
            return Some(Known {
                row,
                imported: None,
            });
        }
        let imported = files.iter().find_map(|(file, imports)| {
            let function = row.functions.iter().find(|name| imports.has(name))?;
            Some((file.clone(), *function))
        });
        imported.map(|imported| Known {
            row,
            imported: Some(imported),
        })
    };
    ROWS.iter().filter_map(of_row).collect()
}

impl Known {
    /// Returns a sentence for people.
    pub fn said(&self) -> String {
        let said = self.row.said(self.imported.is_none());
        match &self.imported {
            None => format!("{said} (seen in the recording)"),
            Some((file, function)) => format!("{said} ({} imports {function})", file.display()),
        }
    }

    fn value(&self) -> Value {
        let effect = match self.row.effect {
            Effect::Refuses => "refuse",
            Effect::StaysHome => "stay-home",
        };
        let imported = self.imported.as_ref();
        json!({
            "effect": effect,
            "reason": self.row.reason,
            "seen": imported.is_none(),
            "file": imported.map(|(file, _)| file),
            "function": imported.map(|(_, function)| function),
        })
    }
}

/// Returns all of them as JSON.
pub fn value(all: &[Known]) -> Value {
    all.iter().map(Known::value).collect()
}
