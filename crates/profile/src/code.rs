//! Which source lines instructions belong to, with the functions that were inlined there.

use crate::collector::Site;
use corehop_simulator::detail::{Attribution, CodeOwner};
use corehop_symbolizer::SourceLines;
use corehop_traces::Trace;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// A function and the line in it: where the instruction is, or the call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CodeFrame {
    /// The demangled name of the function; `None` if only the line is known.
    pub function: Option<String>,
    /// The source file as it was given to the compiler; `None` if it is not known.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

/// Returns the innermost source line that is known, and its file.
pub(crate) fn source_line(frames: &[CodeFrame]) -> Option<(&str, u32)> {
    let mut frames = frames.iter();
    frames.find_map(|frame| Some((frame.file.as_deref()?, frame.line?)))
}

/// The name of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CodeName {
    /// Index of the module that holds it.
    pub module: Option<usize>,
    /// Innermost first; empty without DWARF.
    pub frames: Vec<CodeFrame>,
    /// The function or module, and the distance from its start; empty with DWARF.
    pub place: String,
}

/// Looks up instructions, each once.
pub(crate) struct Lines<'t> {
    trace: &'t Trace,
    sources: SourceLines,
    /// By guest address: the module, and the frames from DWARF.
    known: HashMap<u64, (Option<usize>, Vec<CodeFrame>)>,
}

impl<'t> Lines<'t> {
    /// Of this trace's modules.
    pub fn new(trace: &'t Trace, sources: SourceLines) -> Lines<'t> {
        Lines {
            trace,
            sources,
            known: HashMap::new(),
        }
    }

    /// Returns the name of a site's instruction.
    pub fn name(&mut self, site: &Site, attribution: &Attribution) -> CodeName {
        let (module, frames) = match self.known.get(&site.pc) {
            Some(known) => known.clone(),
            None => {
                let found = self.look_up(site.pc);
                self.known.insert(site.pc, found.clone());
                found
            }
        };
        // Without a line, the function's name is only its symbol.
        let has_line = frames.iter().any(|frame| frame.line.is_some());
        let place = match has_line {
            true => String::new(),
            false => self.place(site.pc, attribution.owner(site.owner as usize)),
        };
        CodeName {
            module,
            frames: if has_line { frames } else { Vec::new() },
            place,
        }
    }

    /// Returns the module that holds an instruction, and the frames from DWARF.
    pub fn look_up(&mut self, pc: u64) -> (Option<usize>, Vec<CodeFrame>) {
        let mut modules = self.trace.modules().iter();
        let holds = modules.position(|module| module.holds(pc));
        let Some(number) = holds else {
            return (None, Vec::new());
        };
        let module = &self.trace.modules()[number];
        let offset = pc.wrapping_sub(module.load_bias);
        let path = Path::new(&module.path);
        let frames = self.sources.frames(path, &module.build_id, offset);
        let frames = frames.into_iter().map(|frame| CodeFrame {
            function: frame.function,
            line: frame.source.as_ref().map(|source| source.line),
            file: frame.source.map(|source| source.file),
        });
        (Some(number), frames.collect())
    }

    /// Returns `function+0x1c`, or `module+0x1c`.
    fn place(&self, pc: u64, owner: CodeOwner) -> String {
        let modules = self.trace.modules();
        match owner {
            CodeOwner::Function(of) => {
                let function = &self.trace.functions()[of.index()];
                let bias = modules[function.module as usize].load_bias;
                let start = bias.wrapping_add(function.offset);
                format!("{}+{:#x}", function.name, pc.wrapping_sub(start))
            }
            CodeOwner::Module(module) => {
                let module = &modules[module as usize];
                format!("[{}]+{:#x}", module.path, pc.wrapping_sub(module.load_bias))
            }
            CodeOwner::Elsewhere => format!("{pc:#x}"),
        }
    }
}
