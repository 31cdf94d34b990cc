//! Where costs are, as all formats have it: in a module, and there in a function, with the
//! functions that were inlined into it.
//!
//! A trace has no call stacks, so these are as deep as functions are inlined. Each frame has a
//! name: without DWARF the function's symbol, without a symbol the module. A file may be read in a
//! terminal, so names are inert.

use crate::code::CodeFrame;
use crate::cost::Cost;
use crate::view::{Place, PlaceKind, View};
use corehop_plan::inert;
use std::collections::BTreeMap;

/// A module's code at a source line, or of a function without lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stack {
    /// Path of the module; `None` outside of all.
    pub module: Option<String>,
    /// Innermost first, at least one.
    pub frames: Vec<Frame>,
}

/// A function, and the place in it: where the instruction is, or the call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    pub function: String,
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
}

/// What perf calls a function that it has no name of.
const UNKNOWN: &str = "[unknown]";

/// Code that was made while the program ran, and the kernel's vDSO.
const OUTSIDE: &str = "[outside all modules]";

/// The rows of a view by line, with instructions of the same function together.
pub(super) fn stacks(view: &View) -> BTreeMap<Stack, Cost> {
    let mut costs = BTreeMap::<Stack, Cost>::new();
    for row in &view.rows {
        *costs.entry(Stack::of(&row.place)).or_default() += row.cost;
    }
    costs.retain(|_, cost| *cost != Cost::default());
    costs
}

impl Stack {
    fn of(place: &Place) -> Stack {
        let frames = match place.kind {
            PlaceKind::Line => place.frames.iter().map(Frame::of).collect(),
            _ => vec![Frame::without_line(&place.name)],
        };
        Stack {
            module: place.module.as_deref().map(|path| inert(path).into_owned()),
            frames,
        }
    }

    /// The module's file name.
    pub fn module_name(&self) -> &str {
        self.module.as_deref().map_or(OUTSIDE, file_name)
    }

    /// The innermost place that is known.
    pub fn position(&self) -> Option<(&str, u32)> {
        let mut frames = self.frames.iter();
        frames.find_map(|frame| Some((frame.file.as_deref()?, frame.line?)))
    }
}

impl Frame {
    fn of(frame: &CodeFrame) -> Frame {
        Frame {
            function: named(frame.function.as_deref().unwrap_or_default()),
            file: frame.file.as_deref().map(|file| inert(file).into_owned()),
            line: frame.line,
        }
    }

    /// Of an instruction that is called `function+0x1c`.
    fn without_line(place: &str) -> Frame {
        let function = place.rsplit_once('+').map(|(function, _)| function);
        Frame {
            // What is in no module has an address for a name.
            function: named(function.unwrap_or(OUTSIDE)),
            file: None,
            line: None,
        }
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name that is never empty.
fn named(function: &str) -> String {
    match function {
        "" => UNKNOWN.into(),
        name => inert(name).into_owned(),
    }
}
