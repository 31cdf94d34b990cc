//! The functions of modules by address, and whether a hook can be put at each.
//!
//! They come from the symbolizer, which takes seconds for a large binary that it has not seen
//! before. A thread asks it, beginning while the server starts, so that the first request seldom
//! waits for it. A server begins with a dozen libraries at once: the symbolizer is asked for all
//! that are wanted by then.

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

/// The name of a machine's kernel, as the plugin gives it.
const KERNEL: &str = "[kernel]";

/// What the thread that reads functions is told.
pub(super) enum Wanted {
    /// The functions of this file.
    Functions(PathBuf),
    /// A process begins this program, with its libraries.
    Program(PathBuf),
}

#[derive(Default)]
pub(super) struct Functions {
    /// Symbols by virtual address of the entry, and their number once it was executed.
    pub(super) by_offset: HashMap<u64, (symbols::Symbol, Option<FunctionId>)>,
    pub(super) patching: Patching,
}

/// Why no plan can name an entry of a file.
const NAMELESS: &str = "its file has no build id: link it with -Wl,--build-id";

/// Whether a module's entries can be patched.
#[derive(Default)]
pub(super) enum Patching {
    /// A program of the server's or a library of it: the analysis says, entry by entry.
    Analysed(Box<Analysis>),
    /// No entry can be, for this reason.
    Never(String),
    /// The module could not be looked at.
    #[default]
    Unknown,
}

impl Patching {
    /// Why no hook can be put at the entry at `offset`.
    pub(super) fn obstacle(&self, offset: u64) -> Option<String> {
        match self {
            Patching::Analysed(analysis) => analysis.unsafe_reason(offset),
            Patching::Never(reason) => Some(reason.clone()),
            Patching::Unknown => None,
        }
    }

    /// Of a file, where these are loaded before the server runs.
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

/// Starts the thread that reads functions, and gives the way to it and the way back, on which the
/// functions of files come in the order in which they were asked for. `kernel` is what the module
/// has of which no file says anything.
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

/// What the thread that reads functions knows.
struct Reader {
    kernel: Option<Arc<Kernel>>,
    observer: Observer,
    /// The programs that began so far, and their libraries.
    loaded: Vec<PathBuf>,
}

impl Reader {
    /// Until nobody wants any more.
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

    /// A program and its libraries are loaded before hooks are put in place.
    fn load(&mut self, program: &Path) {
        if !self.loaded.iter().any(|loaded| loaded == program) {
            self.loaded.extend(linked::libraries_of(program));
            self.loaded.push(program.into());
        }
    }

    fn kernel_at(&self, path: &Path) -> Option<&Kernel> {
        self.kernel.as_deref().filter(|_| path == Path::new(KERNEL))
    }

    /// Whose functions the symbolizer is to read.
    fn file<'a>(&self, order: &'a Wanted) -> Option<&'a Path> {
        match order {
            Wanted::Functions(path) if self.kernel_at(path).is_none() => Some(path),
            _ => None,
        }
    }

    /// The functions of a file, with its stubs. Without its symbols a library is recorded all the
    /// same; the user is told.
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

/// The stubs of what a file calls and does not hold; those of libc and its loader are none, which
/// no hook can be put into.
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
