//! Names of the calls that made objects on the heap: `malloc by parse a.c:40`.
//!
//! The address behind a call belongs to the next statement, so the byte before it is looked up.

use crate::code::Lines;
use crate::heap::{Made, Sites};
use crate::view::{Place, PlaceKind};
use corehop_traces::{AllocatedObject, Trace};

/// Returns the place of each site, by number, and what it made.
pub(crate) fn places(trace: &Trace, sites: &Sites, lines: &mut Lines<'_>) -> Vec<(Place, Made)> {
    let all = sites.all.iter();
    all.map(|&(object, made)| (place(trace, object, lines), made))
        .collect()
}

fn place(trace: &Trace, object: AllocatedObject, lines: &mut Lines<'_>) -> Place {
    let allocators = trace.allocators();
    let allocator = &allocators[usize::from(object.allocator)];
    let call = object.site.wrapping_sub(1);
    let (module, frames) = lines.look_up(call);
    let has_line = frames.iter().any(|frame| frame.line.is_some());
    let caller = match has_line {
        true => {
            let mut frames = frames.iter();
            let innermost = frames.find_map(|frame| {
                let (file, line) = (frame.file.as_ref()?, frame.line?);
                let function = frame.function.as_deref().unwrap_or("?");
                Some(format!("{function} {file}:{line}"))
            });
            innermost.unwrap_or_default()
        }
        false => match (function(trace, module, call), frames.first()) {
            (Some((name, distance)), _) => format!("{name}+{distance:#x}"),
            (None, Some(frame)) => frame.function.clone().unwrap_or_default(),
            (None, None) => elsewhere(trace, module, call),
        },
    };
    Place {
        kind: PlaceKind::Allocated,
        name: format!("{allocator} by {caller}"),
        module: module.map(|module| trace.modules()[module].path.clone()),
        frames: if has_line { frames } else { Vec::new() },
        is_named: true,
    }
}

/// Returns the executed function that holds an instruction, and the distance from its start.
fn function(trace: &Trace, module: Option<usize>, pc: u64) -> Option<(&str, u64)> {
    let module = module?;
    let offset = pc.wrapping_sub(trace.modules()[module].load_bias);
    let mut functions = trace.functions().iter();
    functions.find_map(|function| {
        let distance = offset.checked_sub(function.offset)?;
        let holds = function.module as usize == module && distance < function.size_bytes;
        holds.then_some((function.name.as_str(), distance))
    })
}

fn elsewhere(trace: &Trace, module: Option<usize>, pc: u64) -> String {
    match module.map(|module| &trace.modules()[module]) {
        Some(module) => {
            format!("[{}]+{:#x}", module.path, pc.wrapping_sub(module.load_bias))
        }
        None => format!("{pc:#x}"),
    }
}
