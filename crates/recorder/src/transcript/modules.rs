//! The modules that contain code, and their functions by address.
//!
//! A module is read when the plugin first reports code in it; a separate thread reads its functions
//! (functions.rs).

use super::functions::{self, Functions, Wanted};
use crate::binaries::binary::Binary;
use crate::binaries::program::Program;
use crate::events::Observer;
use crate::system::Kernel;
use corehop_traces::{Error, Function, FunctionId, Module, Writer};
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// All modules of one recording.
pub struct Modules {
    /// The server's program: its mapped path, and its path in messages.
    program: (PathBuf, PathBuf),
    loaded: Vec<Loaded>,
    /// Mappings, in the order of their reports.
    ranges: Vec<Mapped>,
    /// Requests to the thread that reads functions, and its results in the same order.
    wanted: Sender<Wanted>,
    read: Receiver<Functions>,
    reads_files: bool,
    /// Whether a module is added to the trace before its code is recorded. In a whole machine, much
    /// code is never recorded.
    at_once: bool,
    /// Modules whose functions are requested but not read yet, in that order.
    asked: VecDeque<usize>,
}

struct Loaded {
    /// The mapped file.
    file: PathBuf,
    module: Module,
    /// Its number in the trace, if it was added.
    number: Option<u32>,
    functions: Option<Functions>,
}

/// Addresses of a process, and the module there, if a file is mapped.
struct Mapped {
    process: u32,
    range: Range<u64>,
    module: Option<usize>,
}

/// A mapping reported by the plugin.
pub struct Mapping {
    /// The process.
    pub process: u32,
    /// First guest address.
    pub start: u64,
    /// End, exclusive.
    pub end: u64,
    /// File offset of the start.
    pub file_offset: u64,
    /// The file; empty if there is none.
    pub path: String,
}

impl Modules {
    /// Creates an empty set. Only `program`, other programs that the server executes
    /// ([`Modules::begins`]), and their libraries can be patched. `kernel` is the data of the
    /// module that has no file.
    pub fn new(program: &Program, kernel: Option<Arc<Kernel>>, observer: Observer) -> Modules {
        let at_once = kernel.is_none();
        let (wanted, read) = functions::reader(program.resolved.clone(), kernel, observer);
        Modules {
            program: (program.resolved.clone(), program.shown()),
            loaded: Vec::new(),
            ranges: Vec::new(),
            wanted,
            read,
            reads_files: true,
            at_once,
            asked: VecDeque::new(),
        }
    }

    /// Creates an empty set that reads no files: modules have no build id and no functions.
    pub fn unread() -> Modules {
        Modules {
            program: Default::default(),
            loaded: Vec::new(),
            ranges: Vec::new(),
            wanted: channel().0,
            read: channel().1,
            reads_files: false,
            at_once: true,
            asked: VecDeque::new(),
        }
    }

    /// Notes that a process starts a program.
    pub fn begins(&self, program: PathBuf) {
        let _ = self.wanted.send(Wanted::Program(program));
    }

    /// Adds a mapping, and a module of the trace if the file is new. A later mapping of the same
    /// addresses hides an earlier one.
    pub fn map(&mut self, mapping: &Mapping, writer: &mut Writer) -> Result<(), Error> {
        let module = match mapping.path.is_empty() {
            true => None,
            false => Some(self.module_of(mapping, writer)?),
        };
        let (process, range) = (mapping.process, mapping.start..mapping.end);
        // A server that generates code at run time maps the same addresses repeatedly.
        self.ranges.retain(|earlier| {
            let hidden = range.start <= earlier.range.start && earlier.range.end <= range.end;
            earlier.process != process || !hidden
        });
        self.ranges.push(Mapped {
            process,
            range,
            module,
        });
        Ok(())
    }

    fn module_of(&mut self, mapping: &Mapping, writer: &mut Writer) -> Result<usize, Error> {
        let size_bytes = mapping.end - mapping.start;
        let binary = match self.reads_files {
            true => Binary::read(Path::new(&mapping.path)).ok(),
            false => None,
        };
        let bias = binary
            .as_ref()
            .and_then(|binary| binary.load_bias(mapping.start, mapping.file_offset, size_bytes));
        let load_bias = bias.unwrap_or(mapping.start.wrapping_sub(mapping.file_offset));
        let file = Path::new(&mapping.path);
        let known = |known: &Loaded| (&*known.file, known.module.load_bias) == (file, load_bias);
        if let Some(place) = self.loaded.iter().position(known) {
            return Ok(place);
        }
        let code = binary.as_ref().and_then(Binary::code_range);
        let (start, end) = match (bias, code) {
            (Some(bias), Some((start, end))) => (bias.wrapping_add(start), bias.wrapping_add(end)),
            _ => (mapping.start, mapping.end),
        };
        let (mapped, shown) = &self.program;
        let path = match shown.to_str() {
            Some(shown) if file == mapped => shown.to_owned(),
            _ => mapping.path.clone(),
        };
        let module = Module {
            path,
            build_id: binary.map(|binary| binary.build_id).unwrap_or_default(),
            load_bias,
            start,
            end,
        };
        self.loaded.push(Loaded {
            file: file.into(),
            module,
            number: None,
            functions: None,
        });
        let place = self.loaded.len() - 1;
        if self.at_once {
            self.number(place, writer)?;
        }
        Ok(place)
    }

    /// Returns the number of a module in the trace, adding it if necessary.
    fn number(&mut self, place: usize, writer: &mut Writer) -> Result<u32, Error> {
        let Loaded {
            file,
            module,
            number,
            ..
        } = &mut self.loaded[place];
        if let Some(number) = number {
            return Ok(*number);
        }
        let new = writer.module(module)?;
        *number = Some(new);
        // The thread, if there is one, outlives this sender.
        let _ = self.wanted.send(Wanted::Functions(file.clone()));
        self.asked.push_back(place);
        Ok(new)
    }

    /// Returns this recording's index of the module that currently contains the code at `address`
    /// of a process.
    pub fn at(&self, process: u32, address: u64) -> Option<usize> {
        let mut latest = self.ranges.iter().rev();
        latest
            .find(|mapped| mapped.process == process && mapped.range.contains(&address))
            .and_then(|mapped| mapped.module)
    }

    /// Returns the function whose entry is `address`, if there is one.
    pub fn entry_at(
        &mut self,
        module: usize,
        address: u64,
        writer: &mut Writer,
    ) -> Result<Option<FunctionId>, Error> {
        let number = self.number(module, writer)?;
        let offset = address.wrapping_sub(self.loaded[module].module.load_bias);
        let functions = self.functions(module);
        let Some((symbol, known)) = functions.by_offset.get_mut(&offset) else {
            return Ok(None);
        };
        if known.is_none() {
            *known = Some(writer.function(&Function {
                module: number,
                offset,
                size_bytes: symbol.size,
                symbol: symbol.symbol.clone(),
                name: symbol.name.clone(),
                unpatchable: functions.patching.obstacle(offset),
            })?);
        }
        Ok(*known)
    }

    /// Returns the functions of a module; waits for them if necessary.
    fn functions(&mut self, module: usize) -> &mut Functions {
        while self.loaded[module].functions.is_none()
            && let Some(next) = self.asked.pop_front()
        {
            self.loaded[next].functions = Some(self.read.recv().unwrap_or_default());
        }
        self.loaded[module].functions.get_or_insert_default()
    }
}
