//! Samples of a profiler as `perf script` prints them.
//!
//! `perf mem record --call-graph` samples loads and stores with their addresses and calls. Printed
//! with `-F tid,event,addr,ip,sym` a sample is a line with the thread, the event and the address,
//! then a line for each call, innermost first, that begins with a tab, and an empty line:
//!
//! ```text
//!  1240 cpu/mem-loads,ldlat=30/P:     7f3a1c0042a0
//! <tab>    555555a01234 parse_sql+0x24
//! <tab>    5555559f0011 dispatch_command+0x91
//!
//! ```
//!
//! More fields may be printed (`line.rs`). Functions that were inlined have lines of their own and
//! count as calls. A thread counts as a session, and an address as itself: the memory is taken to
//! be of one process. Samples without an address or without calls tell too little and are counted
//! as dropped, as Curto does; a line that is none of these ends the reading with its number,
//! because a profile that is half understood would mislead.

mod line;

use crate::characterize::classes::{FunctionClasses, Totals};
use crate::characterize::open_sets::Sets;
use crate::characterize::touches::Touches;
use corehop_traces::execution::LINE_SHIFT;
use corehop_traces::function_name::{is_called, module_and_name};
use line::{Call, Head, Line, line};
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Longer lines than any name of a function.
const LONGEST_LINE_BYTES: u64 = 1 << 20;

/// What samples say of some functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Samples that were counted.
    pub samples: u64,
    /// Samples without an address, without calls, or of neither a load nor a store.
    pub dropped: u64,
    /// Threads that were sampled.
    pub threads: u32,
    /// All lines sampled.
    pub totals: Totals,
    /// Those of each function, in their order.
    pub classes: Vec<FunctionClasses>,
    /// Samples within each function.
    pub within: Vec<u64>,
}

/// Why samples could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{name}: cannot read: {source}")]
    Read {
        /// What the file is called.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not as `perf script` prints it.
    #[error("{name}: line {line}: {problem}")]
    Broken {
        /// What the file is called.
        name: String,
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No sample tells enough.
    #[error("{name}: no sample of a load or a store has an address and calls, of {dropped}")]
    Nothing {
        /// What the file is called.
        name: String,
        /// How many have not.
        dropped: u64,
    },
}

/// A sample on its way.
struct Open {
    head: Head,
    has_calls: bool,
    /// Places of the functions that are open.
    places: Vec<u32>,
}

struct Reader<'f> {
    functions: &'f [String],
    /// Which of the functions a name and a module are, by what is printed of them.
    met: HashMap<(String, Option<String>), Box<[u32]>>,
    sets: Sets,
    touches: Touches,
    sessions: HashMap<i64, u32>,
    open: Option<Open>,
    found: Sampled,
}

/// Reads all samples of `input`, and what they say of the functions that have these names.
///
/// # Errors
/// [`Error::Broken`] for the first line that is not as above, [`Error::Nothing`], [`Error::Read`].
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

    /// The sample that is open is whole.
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

/// Which of the functions a call is one of: they are named with their parameters or without, and
/// perhaps with their module (`libz.so.1:inflate`).
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

/// Whether the file at `path` is called `module`, by its path or its last part.
fn is_module(path: &str, module: &str) -> bool {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    path == module || path.rsplit('/').next() == Some(module)
}
