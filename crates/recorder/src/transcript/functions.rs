//! The functions of modules by address, and whether each can be hooked.
//!
//! They come from the symbolizer, which takes seconds for a large new binary. A separate thread
//! runs it, beginning while the server starts, so the first request seldom waits for it. A server
//! starts with a dozen libraries at once, so each run of the symbolizer processes all pending
//! files.

use crate::binaries::linked;
use crate::events::{Event, Observer, Warning};
use crate::system::Kernel;
use corehop_patcher::{Analysis, Refusal, STUB_SUFFIX};
use corehop_symbolizer as symbols;
use corehop_traces::FunctionId;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The plugin's name for a machine's kernel.
const KERNEL: &str = "[kernel]";

/// Requests to the thread that reads functions.
pub(super) enum Wanted {
    /// The functions of this file.
    Functions(PathBuf),
    /// A process starts this program, with its libraries.
    Program(PathBuf),
}

#[derive(Default)]
pub(super) struct Functions {
    /// Symbols by virtual address of the entry, and their number once executed.
    pub(super) by_offset: HashMap<u64, (symbols::Symbol, Option<FunctionId>)>,
    pub(super) patching: Patching,
}

/// Why plans cannot name entries of a file.
const NAMELESS: &str = "its file has no build id: link it with -Wl,--build-id";

/// Whether a module's entries can be patched.
#[derive(Default)]
pub(super) enum Patching {
    /// A program of the server or one of its libraries: the analysis decides for each entry.
    Analysed(Box<Analysis>),
    /// No entry can be patched, for this reason.
    Never(String),
    /// The module could not be read.
    #[default]
    Unknown,
}

impl Patching {
    /// Returns why the entry at `offset` cannot be hooked.
    pub(super) fn obstacle(&self, offset: u64) -> Option<String> {
        match self {
            Patching::Analysed(analysis) => analysis.unsafe_reason(offset),
            Patching::Never(reason) => Some(reason.clone()),
            Patching::Unknown => None,
        }
    }

    /// Returns the patching state of a file, given the files loaded before the server runs.
    fn of(path: &Path, loaded: &[PathBuf]) -> Patching {
        if !loaded.iter().any(|file| file == path) {
            let reason = "the server loads its file after the start, when hooks are in place";
            return Patching::Never(reason.into());
        }
        match Analysis::of(path) {
            Ok(analysis) if analysis.build_id().is_none() => Patching::Never(NAMELESS.into()),
            Ok(analysis) => Patching::Analysed(Box::new(analysis)),
            Err(error) => Patching::Never(error.to_string()),
        }
    }
}

/// Starts the thread that reads functions. Returns the channel of requests, and the channel of
/// results in the same order. `kernel` is the data of the module that has no file.
pub(super) fn reader(
    program: PathBuf,
    kernel: Option<Arc<Kernel>>,
    observer: Observer,
) -> (Sender<Wanted>, Receiver<Functions>) {
    let (wanted, orders) = channel();
    let (send, read) = channel();
    let mut reader = Reader {
        kernel,
        observer,
        loaded: Vec::new(),
    };
    std::thread::spawn(move || {
        reader.load(&program);
        reader.work(&orders, &send);
    });
    (wanted, read)
}

/// State of the thread that reads functions.
struct Reader {
    kernel: Option<Arc<Kernel>>,
    observer: Observer,
    /// The programs started so far, and their libraries.
    loaded: Vec<PathBuf>,
}

impl Reader {
    /// Handles requests until the channel is closed.
    fn work(&mut self, orders: &Receiver<Wanted>, read: &Sender<Functions>) {
        while let Ok(first) = orders.recv() {
            let orders: Vec<Wanted> = std::iter::once(first).chain(orders.try_iter()).collect();
            let files: Vec<&Path> = orders.iter().filter_map(|it| self.file(it)).collect();
            let mut symbols = symbols::of_each(&files).into_iter();
            for order in &orders {
                let functions = match order {
                    Wanted::Program(path) => {
                        self.load(path);
                        continue;
                    }
                    Wanted::Functions(path) => match self.kernel_at(path) {
                        Some(kernel) => functions_of(kernel),
                        None => self.functions_in(path, symbols.next().expect("one for each")),
                    },
                };
                if read.send(functions).is_err() {
                    return;
                }
            }
        }
    }

    /// Adds a program and its libraries, which are loaded before hooks are installed.
    fn load(&mut self, program: &Path) {
        if !self.loaded.iter().any(|loaded| loaded == program) {
            self.loaded.extend(linked::libraries_of(program));
            self.loaded.push(program.into());
        }
    }

    fn kernel_at(&self, path: &Path) -> Option<&Kernel> {
        self.kernel.as_deref().filter(|_| path == Path::new(KERNEL))
    }

    /// Returns the file that the symbolizer must read, if any.
    fn file<'a>(&self, order: &'a Wanted) -> Option<&'a Path> {
        match order {
            Wanted::Functions(path) if self.kernel_at(path).is_none() => Some(path),
            _ => None,
        }
    }

    /// Returns the functions of a file, with its stubs. A library without symbols is recorded
    /// anyway, with a warning.
    fn functions_in(
        &self,
        path: &Path,
        symbols: Result<Vec<symbols::Symbol>, symbols::Error>,
    ) -> Functions {
        let symbols = symbols.unwrap_or_else(|error| {
            (self.observer)(Event::Warning(Warning::NoFunctions(error)));
            Vec::new()
        });
        let patching = Patching::of(path, &self.loaded);
        let stubs = imports(path, &patching);
        let by_offset = symbols.into_iter().chain(stubs);
        Functions {
            by_offset: by_offset
                .map(|symbol| (symbol.offset, (symbol, None)))
                .collect(),
            patching,
        }
    }
}

fn functions_of(kernel: &Kernel) -> Functions {
    let functions = kernel.functions();
    let by_offset = functions.map(|symbol| (symbol.offset, (symbol, None)));
    Functions {
        by_offset: by_offset.collect(),
        patching: Patching::Never("it is the kernel's".into()),
    }
}

/// Returns the stubs of a file's imported functions. Stubs in libc and its loader are excluded,
/// because they cannot be hooked.
fn imports(path: &Path, patching: &Patching) -> impl Iterator<Item = symbols::Symbol> {
    let of_file = |analysis: &Analysis| match analysis.refusal() {
        Some(Refusal::NeededByTheRuntime) => Vec::new(),
        _ => analysis.imports().collect(),
    };
    let functions = match patching {
        Patching::Analysed(analysis) => of_file(analysis),
        Patching::Never(_) => Analysis::of(path).map_or(Vec::new(), |of| of_file(&of)),
        Patching::Unknown => Vec::new(),
    };
    functions.into_iter().map(|function| {
        let symbol = function.symbol.unwrap_or_default();
        let imported = symbol.strip_suffix(STUB_SUFFIX).unwrap_or(&symbol);
        symbols::Symbol {
            offset: function.offset,
            size: function.size_bytes,
            name: format!("{}{STUB_SUFFIX}", symbols::demangled(imported)),
            symbol,
            aliases: Vec::new(),
        }
    })
}
