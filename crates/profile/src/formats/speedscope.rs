//! <https://www.speedscope.app>: JSON with a profile for each figure.
//!
//! The format is speedscope's `file-format-schema.json`, with stacks of the type `sampled`. A frame
//! of speedscope is one box, so a function and its lines are boxes of their own, one below the
//! other: module, function, functions that were inlined there, line.

use super::export::{CREATOR, Export};
use super::stacks::{Stack, file_name};
use crate::numbered::Numbered;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{Result, Write};

/// Writes the file.
pub(super) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<()> {
    let stacks = export.stacks();
    let mut frames = Numbered::default();
    let samples = stacks.keys().map(|stack| numbers(stack, &mut frames));
    let samples: Vec<_> = samples.collect();
    let profiles = export.figures().into_iter().filter_map(|figure| {
        let weights = stacks.values().map(|cost| figure.of(cost, export.machine));
        let counted = samples
            .iter()
            .zip(weights)
            .filter(|(_, weight)| *weight > 0);
        let (samples, weights): (Vec<_>, Vec<_>) = counted.unzip();
        // Boxes of no width cannot be drawn.
        (!samples.is_empty()).then(|| {
            json!({
                "type": "sampled",
                "name": figure.title,
                "unit": "none",
                "startValue": 0,
                "endValue": weights.iter().sum::<u64>(),
                "samples": samples,
                "weights": weights,
            })
        })
    });
    let profiles: Vec<Value> = profiles.collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": export.title(),
        "exporter": CREATOR,
        "activeProfileIndex": 0,
        "shared": {"frames": frames.all().iter().map(frame).collect::<Vec<_>>()},
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

/// A frame's name, file, and line.
type Frame<'s> = (Cow<'s, str>, Option<&'s str>, Option<u32>);

/// The numbers of a stack's frames, outermost first.
fn numbers<'s>(stack: &'s Stack, frames: &mut Numbered<Frame<'s>>) -> Vec<usize> {
    let module = (stack.module_name().into(), stack.module.as_deref(), None);
    let mut numbers = vec![frames.of(module)];
    for frame in stack.frames.iter().rev() {
        let function = (frame.function.as_str().into(), frame.file.as_deref(), None);
        numbers.push(frames.of(function));
    }
    if let Some((file, line)) = stack.position() {
        let name = format!("{}:{line}", file_name(file));
        numbers.push(frames.of((name.into(), Some(file), Some(line))));
    }
    numbers
}

/// A frame without the keys that it has no value of.
fn frame((name, file, line): &Frame<'_>) -> Value {
    let mut frame = json!({"name": name});
    if let Some(file) = file {
        frame["file"] = (*file).into();
    }
    if let Some(line) = line {
        frame["line"] = (*line).into();
    }
    frame
}
