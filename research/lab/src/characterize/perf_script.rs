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
//! Lines that begin with `#` are perf's own words. A thread counts as a session, and an address as
//! itself: the memory is taken to be of one process. Samples without an address or without calls
//! tell too little and are counted as dropped, as Curto does; a line that is none of these ends
//! the reading with its number, because a profile that is half understood would mislead.

use crate::characterize::classes::{FunctionClasses, Totals};
use crate::characterize::open_sets::Sets;
use crate::characterize::touches::Touches;
use corehop_traces::Kind;
use corehop_traces::execution::LINE_SHIFT;
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Longer lines than any name of a function.
const LONGEST_LINE_BYTES: u64 = 1 << 16;

/// What samples say of some functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Samples that were counted.
    pub samples: u64,
    /// Samples without an address or without calls.
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
    #[error("{name}: no sample has an address and calls, of {dropped}")]
    Nothing {
        /// What the file is called.
        name: String,
        /// How many have not.
        dropped: u64,
    },
}

/// The first line of a sample.
struct Head {
    thread: u32,
    kind: Kind,
    address: u64,
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
    sets: Sets,
    touches: Touches,
    sessions: HashMap<u32, u32>,
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
    fn take(&mut self, line: &str) -> Result<(), &'static str> {
        let line = line.trim_end();
        if line.is_empty() {
            self.close();
            return Ok(());
        }
        if line.starts_with('#') {
            return Ok(());
        }
        let Some(call) = line.strip_prefix('\t') else {
            self.close();
            let head = head(line)?;
            self.open = Some(Open {
                head,
                has_calls: false,
                places: Vec::new(),
            });
            return Ok(());
        };
        let Some(open) = &mut self.open else {
            return Err("a call of no sample: print with -F tid,event,addr,ip,sym");
        };
        let (address, symbol) = call
            .trim_start()
            .split_once(' ')
            .unwrap_or((call.trim(), ""));
        u64::from_str_radix(address, 16).map_err(|_| "a call begins with its address")?;
        open.has_calls = true;
        let symbol = bare(symbol.trim());
        let named = (0..).zip(self.functions).filter(|(_, name)| {
            let without_arguments = symbol.split('(').next();
            symbol == **name || without_arguments == Some(name)
        });
        open.places.extend(named.map(|(place, _)| place));
        Ok(())
    }

    /// The sample that is open is whole.
    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        if open.head.address == 0 || !open.has_calls {
            self.found.dropped += 1;
            return;
        }
        let next = self.sessions.len() as u32;
        let session = *self.sessions.entry(open.head.thread).or_insert(next);
        let set = self.sets.number(open.places);
        for &place in self.sets.members(set) {
            self.found.within[place as usize] += 1;
        }
        self.found.samples += 1;
        let line = open.head.address >> LINE_SHIFT;
        self.touches.touch(line, open.head.kind, (set, session));
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

/// The thread, the event and the address.
fn head(line: &str) -> Result<Head, &'static str> {
    let (thread, rest) = line.trim_start().split_once(' ').unwrap_or((line, ""));
    let thread = thread.rsplit('/').next().and_then(|tid| tid.parse().ok());
    let thread = thread.ok_or("neither a thread's number nor a call, which begins with a tab")?;
    // Behind the address perf names the variable that it belongs to, which may have colons.
    let (event, address) = rest
        .split_once(": ")
        .or_else(|| Some((rest.strip_suffix(':')?, "")))
        .ok_or("no event, which ends with a colon")?;
    let event = event.to_ascii_lowercase();
    let kind = match (event.contains("load"), event.contains("store")) {
        (true, false) => Kind::Load,
        (false, true) => Kind::Store,
        _ => return Err("the event is neither of loads nor of stores"),
    };
    let address = address.split_whitespace().next().unwrap_or("");
    let address = u64::from_str_radix(address, 16).map_err(|_| "no address after the event")?;
    Ok(Head {
        thread,
        kind,
        address,
    })
}

/// A symbol without the distance from it and the file that `perf script` may print behind it.
fn bare(symbol: &str) -> &str {
    let file = symbol.rfind(" (/").or_else(|| symbol.rfind(" (["));
    let symbol = &symbol[..file.unwrap_or(symbol.len())];
    match symbol.rsplit_once("+0x") {
        Some((before, distance)) if u64::from_str_radix(distance, 16).is_ok() => before,
        _ => symbol,
    }
}
