//! Reads samples of a profiler in the output format of `perf script`.
//!
//! `perf mem record --call-graph` samples loads and stores with their addresses and calls. Printed
//! with `-F tid,event,addr,ip,sym`, a sample begins with a line of the thread, the event and the
//! address. A line for each call follows, innermost first and beginning with a tab, and then an
//! empty line:
//!
//! ```text
//!  1240 cpu/mem-loads,ldlat=30/P:     7f3a1c0042a0
//! <tab>    555555a01234 parse_sql+0x24
//! <tab>    5555559f0011 dispatch_command+0x91
//!
//! ```
//!
//! More fields may be printed (`line.rs`). Inlined functions have separate lines and count as
//! calls. A thread counts as a session. Addresses are used unchanged, assuming that the memory
//! belongs to one process. Samples without an address or without calls are insufficient and counted
//! as dropped, as in Curto's work. Any other line stops the reading with its number, because a
//! partially understood profile would be misleading.

mod line;

use crate::characterize::classes::{FunctionClasses, Totals};
use crate::characterize::open_sets::Sets;
use crate::characterize::touches::Touches;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::function_name::{is_called, module_and_name};
use line::{Call, Head, Line, line};
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Limit of the line length, longer than any function name.
const LONGEST_LINE_BYTES: u64 = 1 << 20;

/// The classes of some functions, from samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Number of samples that were counted.
    pub samples: u64,
    /// Number of samples without an address, without calls, or of an instruction that is not a load
    /// or store.
    pub dropped: u64,
    /// Number of threads that were sampled.
    pub threads: u32,
    /// All sampled lines.
    pub totals: Totals,
    /// The classes of each function, in their order.
    pub classes: Vec<FunctionClasses>,
    /// Number of samples within each function.
    pub within: Vec<u64>,
}

/// Why samples could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{name}: cannot read: {source}")]
    Read {
        /// The name of the file.
        name: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line is not in the format of `perf script`.
    #[error("{name}: line {line}: {problem}")]
    Broken {
        /// The name of the file.
        name: String,
        /// Line number, from 1.
        line: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No sample has enough information.
    #[error("{name}: no sample of a load or a store has an address and calls, of {dropped}")]
    Nothing {
        /// The name of the file.
        name: String,
        /// Number of dropped samples.
        dropped: u64,
    },
}

/// A sample that is being read.
struct Open {
    head: Head,
    has_calls: bool,
    /// Indices of the open functions.
    places: Vec<u32>,
}

struct Reader<'f> {
    functions: &'f [String],
    /// For each printed name and module, the functions that match.
    met: HashMap<(String, Option<String>), Box<[u32]>>,
    sets: Sets,
    touches: Touches,
    sessions: HashMap<i64, u32>,
    open: Option<Open>,
    found: Sampled,
}

/// Reads all samples of `input`, and classifies the lines of the functions with these names.
///
/// # Errors
/// [`Error::Broken`] for the first line in a different format, [`Error::Nothing`], [`Error::Read`].
pub fn read(mut input: impl BufRead, name: &str, functions: &[String]) -> Result<Sampled, Error> {
    let mut reader = Reader {
        functions,
        met: HashMap::new(),
        sets: Sets::default(),
        touches: Touches::default(),
        sessions: HashMap::new(),
        open: None,
        found: Sampled {
            within: vec![0; functions.len()],
            ..Sampled::default()
        },
    };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = (&mut input).take(LONGEST_LINE_BYTES);
        let read = bounded.read_until(b'\n', &mut line);
        let read = read.map_err(|source| Error::Read {
            name: name.into(),
            source,
        })?;
        if read == 0 {
            break;
        }
        let took = match read as u64 == LONGEST_LINE_BYTES {
            true => Err("longer than any line of `perf script`"),
            false => reader.take(&String::from_utf8_lossy(&line)),
        };
        took.map_err(|problem| Error::Broken {
            name: name.into(),
            line: number,
            problem,
        })?;
    }
    reader.finish(name)
}

impl Reader<'_> {
    fn take(&mut self, text: &str) -> Result<(), &'static str> {
        let after_call = self.open.as_ref().is_some_and(|open| open.has_calls);
        match line(text, after_call)? {
            Line::Blank => self.close(),
            Line::Aside => {}
            Line::Head(head) => {
                self.close();
                self.open = Some(Open {
                    head,
                    has_calls: false,
                    places: Vec::new(),
                });
            }
            Line::Call(call) => {
                let Some(open) = &mut self.open else {
                    return Err("a call of no sample: print with -F tid,event,addr,ip,sym");
                };
                open.has_calls = true;
                let key = (call.function.to_owned(), call.module.map(str::to_owned));
                let functions = self.functions;
                let places = self.met.entry(key);
                let places = places.or_insert_with(|| places_of(call, functions));
                open.places.extend(places.iter());
            }
        }
        Ok(())
    }

    /// Ends the open sample.
    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let Some(kind) = open
            .head
            .kind
            .filter(|_| open.head.address != 0 && open.has_calls)
        else {
            self.found.dropped += 1;
            return;
        };
        let next = self.sessions.len() as u32;
        let session = *self.sessions.entry(open.head.thread).or_insert(next);
        let set = self.sets.number(open.places);
        for &place in self.sets.members(set) {
            self.found.within[place as usize] += 1;
        }
        self.found.samples += 1;
        let line = open.head.address >> LINE_SHIFT;
        self.touches.touch(line, kind, (set, session));
    }

    fn finish(mut self, name: &str) -> Result<Sampled, Error> {
        self.close();
        if self.found.samples == 0 {
            return Err(Error::Nothing {
                name: name.into(),
                dropped: self.found.dropped,
            });
        }
        self.found.threads = self.sessions.len() as u32;
        let functions = self.functions.len();
        (self.found.totals, self.found.classes) = self.touches.classes(&self.sets, functions);
        Ok(self.found)
    }
}

/// Returns the functions that a call matches. They are given with or without parameters, and
/// optionally with a module (`libz.so.1:inflate`).
fn places_of(call: Call<'_>, functions: &[String]) -> Box<[u32]> {
    let is_asked = |asked: &str| {
        let in_module = |(module, name): (&str, &str)| {
            let is_there = call.module.is_some_and(|path| is_module(path, module));
            is_there && is_called(call.function, name)
        };
        is_called(call.function, asked) || module_and_name(asked).is_some_and(in_module)
    };
    let named = (0..).zip(functions).filter(|(_, asked)| is_asked(asked));
    named.map(|(place, _)| place).collect()
}

/// Returns whether `module` is the path, or its last component.
fn is_module(path: &str, module: &str) -> bool {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path == module || path.rsplit('/').next() == Some(module)
}
