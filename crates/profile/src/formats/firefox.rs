//! The Firefox Profiler, <https://profiler.firefox.com>: JSON with a thread for each figure.
//!
//! The format is version 60 of its processed profiles, which newer versions of the site upgrade
//! (`profile.ts` and `CHANGELOG-formats.md` of its repository). Each stack is one sample with the
//! figure as its weight. Samples need times: they get their numbers. The crate
//! `fxprof-processed-profile` 0.8 writes neither files nor lines.

use super::export::{CREATOR, Export};
use super::stacks::{Stack, file_name};
use crate::numbered::Numbered;
use corehop_plan::inert;
use serde_json::{Value, json};
use std::io::{Result, Write};

const VERSION: u32 = 60;

/// What the profiler calls a resource that is a library or program.
const LIBRARY: u32 = 1;

/// Writes the file.
pub(super) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<()> {
    let stacks = export.stacks();
    let mut tables = Tables::default();
    let numbers: Vec<usize> = stacks.keys().map(|stack| tables.stack(stack)).collect();
    let threads = export
        .figures()
        .into_iter()
        .enumerate()
        .map(|(number, figure)| {
            let weights = stacks.values().map(|cost| figure.of(cost, export.machine));
            let counted = numbers
                .iter()
                .copied()
                .zip(weights)
                .filter(|(_, weight)| *weight > 0);
            let (stacks, weights): (Vec<_>, Vec<_>) = counted.unzip();
            thread((number, figure.title), &export.title(), (&stacks, &weights))
        });
    let threads: Vec<Value> = threads.collect();
    let file = json!({
        "meta": meta(export, threads.len()),
        "libs": libs(export, &tables),
        "threads": threads,
        "shared": tables.shared(),
    });
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

/// A thread with this number and name.
fn thread(
    (number, name): (usize, &str),
    process: &str,
    (stacks, weights): (&[usize], &[u64]),
) -> Value {
    json!({
        "name": name,
        "processName": process,
        "processType": "default",
        "isMainThread": number == 0,
        "pid": "1",
        "tid": number + 1,
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "samples": {
            "length": stacks.len(),
            "stack": stacks,
            "time": (0..stacks.len()).collect::<Vec<_>>(),
            "weight": weights,
            "weightType": "samples",
        },
        "markers": {
            "length": 0,
            "category": [],
            "data": [],
            "endTime": [],
            "name": [],
            "phase": [],
            "startTime": [],
        },
    })
}

fn meta(export: &Export<'_>, threads: usize) -> Value {
    json!({
        "version": 32,
        "preprocessedProfileVersion": VERSION,
        "product": export.title(),
        "importedFrom": CREATOR,
        "interval": 1,
        "startTime": 0,
        "processType": 0,
        "stackwalk": 1,
        "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]}],
        "markerSchema": [],
        "symbolicated": true,
        "symbolicationNotSupported": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "keepProfileThreadOrder": true,
        "initialVisibleThreads": (0..threads).collect::<Vec<_>>(),
        "initialSelectedThreads": [0],
    })
}

/// The modules that stacks are in.
fn libs(export: &Export<'_>, tables: &Tables<'_>) -> Vec<Value> {
    let libs = tables.modules.all().iter().map(|path| {
        let name = file_name(path);
        let mut modules = export.trace.modules().iter();
        let module = modules.find(|module| inert(&module.path) == **path);
        json!({
            "arch": inert(&export.trace.header().architecture),
            "name": name,
            "path": path,
            "debugName": name,
            "debugPath": path,
            "breakpadId": "",
            "codeId": module.map(|module| inert(&module.build_id)),
        })
    });
    libs.collect()
}

/// The tables of all threads. Numbers are those of the tables' rows.
#[derive(Default)]
struct Tables<'s> {
    strings: Numbered<&'s str>,
    modules: Numbered<&'s str>,
    /// Source files.
    files: Numbered<&'s str>,
    functions: Numbered<Function<'s>>,
    frames: Numbered<Frame>,
    /// By the stack below, if any, and the frame on top.
    stacks: Numbered<(Option<usize>, usize)>,
}

/// A name, the module, and the source file.
type Function<'s> = (&'s str, Option<usize>, Option<usize>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Frame {
    function: usize,
    line: Option<u32>,
    /// How many functions it is inlined into.
    inline_depth: usize,
}

impl<'s> Tables<'s> {
    /// The number of a stack.
    fn stack(&mut self, stack: &'s Stack) -> usize {
        let module = stack.module.as_deref().map(|path| self.modules.of(path));
        let mut below = None;
        for (inline_depth, frame) in stack.frames.iter().rev().enumerate() {
            let file = frame.file.as_deref().map(|file| self.files.of(file));
            let frame = Frame {
                function: self.functions.of((&frame.function, module, file)),
                line: frame.line,
                inline_depth,
            };
            let frame = self.frames.of(frame);
            below = Some(self.stacks.of((below, frame)));
        }
        // Every stack has a frame.
        below.unwrap_or_default()
    }

    fn shared(mut self) -> Value {
        let functions = self.functions();
        let mut numbers = |names: &[&'s str]| -> Vec<usize> {
            names.iter().map(|name| self.strings.of(name)).collect()
        };
        let files = numbers(self.files.all());
        let modules = numbers(&column(self.modules.all(), |path| file_name(path)));
        let stacks = self.stacks.all();
        json!({
            "sources": {
                "length": files.len(),
                "uuid": vec![Value::Null; files.len()],
                "filename": files,
            },
            "resourceTable": {
                "length": modules.len(),
                "lib": (0..modules.len()).collect::<Vec<_>>(),
                "host": vec![Value::Null; modules.len()],
                "type": vec![LIBRARY; modules.len()],
                "name": modules,
            },
            "funcTable": functions,
            "frameTable": frames(self.frames.all()),
            "stackTable": {
                "length": stacks.len(),
                "prefix": column(stacks, |(below, _)| *below),
                "frame": column(stacks, |(_, frame)| *frame),
            },
            "nativeSymbols": {
                "length": 0,
                "address": [],
                "functionSize": [],
                "libIndex": [],
                "name": [],
            },
            "stringArray": self.strings.all(),
        })
    }

    fn functions(&mut self) -> Value {
        let functions = self.functions.all();
        let names = functions.iter().map(|(name, ..)| self.strings.of(name));
        json!({
            "length": functions.len(),
            "name": names.collect::<Vec<_>>(),
            "resource": column(functions, |(_, module, _)| module.map_or(json!(-1), Value::from)),
            "source": column(functions, |(_, _, file)| *file),
            "isJS": vec![false; functions.len()],
            "relevantForJS": vec![false; functions.len()],
            "lineNumber": vec![Value::Null; functions.len()],
            "columnNumber": vec![Value::Null; functions.len()],
        })
    }
}

fn frames(frames: &[Frame]) -> Value {
    json!({
        "length": frames.len(),
        "func": column(frames, |frame| frame.function),
        "line": column(frames, |frame| frame.line),
        "inlineDepth": column(frames, |frame| frame.inline_depth),
        "address": vec![-1; frames.len()],
        "category": vec![0; frames.len()],
        "subcategory": vec![0; frames.len()],
        "nativeSymbol": vec![Value::Null; frames.len()],
        "innerWindowID": vec![Value::Null; frames.len()],
        "column": vec![Value::Null; frames.len()],
    })
}

fn column<T, V>(rows: &[T], value: impl Fn(&T) -> V) -> Vec<V> {
    rows.iter().map(value).collect()
}
