//! What is known in advance about calls that carriers cannot make for a thread.
//!
//! A recording shows what the server did. Where it shows nothing, the files may help: a program
//! that imports such a function may or may not call it. A trace of another build is ignored, and so
//! are files that no longer exist.

use corehop_partitioner::carriers::seen;
use corehop_patcher::Imports;
use corehop_plan::carriers::{Effect, ROWS, Row};
use corehop_recorder::libraries_of;
use corehop_traces::Trace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// One thing that is known.
pub struct Known {
    row: &'static Row,
    /// The file and the function that it imports, by which it may be; nothing where it was seen.
    imported: Option<(PathBuf, &'static str)>,
}

/// What a trace shows, or the files that it is of.
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

/// What a program's file and those of its libraries say.
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
    /// A sentence for people.
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

/// The same for programs.
pub fn value(all: &[Known]) -> Value {
    all.iter().map(Known::value).collect()
}
