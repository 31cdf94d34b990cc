//! Synthetic servers, recorded as traces, that also return the context of each access.

use crate::definitions;
use corehop_traces::{
    CodeBlock, EndReason, FunctionId, Kind, ThreadId, Trace, Writer, WriterOptions,
};
use std::path::Path;

const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x1000_0000;
/// Start of each thread's stack; 1 MiB apart.
const STACKS: u64 = 0x7000_0000;
pub const FUNCTIONS: u32 = 4;

/// The next action of a thread.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Calls a function.
    Call(u32),
    /// Returns, if it is in a call.
    Return,
    /// Loads from a line of data.
    Load(u64),
    /// Stores to it.
    Store(u64),
}

/// A request: its connection, if known, the thread that serves it, and its actions. Calls that are
/// still open return at its end.
#[derive(Clone, Debug)]
pub struct Served {
    pub connection: Option<u64>,
    pub thread: usize,
    pub actions: Vec<Action>,
}

/// One access as the server made it.
#[derive(Clone, Debug)]
pub struct Made {
    pub request: usize,
    /// The functions in whose calls it was made, outermost first.
    pub within: Vec<u32>,
    pub line: u64,
    pub kind: Kind,
}

struct Server {
    writer: Writer,
    entries: Vec<u32>,
    calling: u32,
    returning: u32,
    working: u32,
    request: usize,
    within: Vec<u32>,
    made: Vec<Made>,
}

impl Server {
    fn new(path: &Path) -> Server {
        let options = WriterOptions::default();
        let (mut writer, module) = definitions::begin(path, &options, "f0", CODE).unwrap();
        let mut entry = |number: u32| {
            let named = (&*format!("f{number}"), u64::from(number) * 64);
            definitions::function(&mut writer, (module, CODE), named, None).unwrap()
        };
        let entries = (0..FUNCTIONS).map(&mut entry).collect();
        let mut block = |place: u64, sizes: &[u8]| {
            let start = CODE + u64::from(FUNCTIONS) * 64 + place * 64;
            let block = CodeBlock::new(start, sizes.iter().copied());
            writer.code_block(&block, None).unwrap()
        };
        let (calling, returning) = (block(0, &[4, 5]), block(1, &[4, 1]));
        let working = block(2, &[4]);
        Server {
            writer,
            entries,
            calling,
            returning,
            working,
            request: 0,
            within: Vec::new(),
            made: Vec::new(),
        }
    }

    fn made(&mut self, line: u64, kind: Kind) {
        self.made.push(Made {
            request: self.request,
            within: self.within.clone(),
            line,
            kind,
        });
    }

    /// Runs an execution whose last instruction may make an access.
    fn run(&mut self, thread: ThreadId, block: u32, last: u16, data: Option<(Kind, u64)>) {
        self.writer.execution(thread, block).unwrap();
        self.made(CODE / 64 + u64::from(block), Kind::Fetch);
        if let Some((kind, address)) = data {
            self.writer.data(thread, last, kind, 8, address).unwrap();
            self.made(address / 64, kind);
        }
    }

    fn act(&mut self, thread: ThreadId, action: Action) {
        let depth = self.within.len() as u64;
        let top = STACKS + (u64::from(thread.0) << 20);
        match action {
            Action::Call(function) => {
                let at = Some((Kind::Store, top - 8 * (depth + 1)));
                self.run(thread, self.calling, 1, at);
                self.within.push(function);
                self.run(thread, self.entries[function as usize], 0, None);
            }
            Action::Return if depth > 0 => {
                let at = Some((Kind::Load, top - 8 * depth));
                self.run(thread, self.returning, 1, at);
                self.within.pop();
            }
            Action::Return => {}
            Action::Load(line) => {
                let at = Some((Kind::Load, DATA + line * 64));
                self.run(thread, self.working, 0, at);
            }
            Action::Store(line) => {
                let at = Some((Kind::Store, DATA + line * 64));
                self.run(thread, self.working, 0, at);
            }
        }
    }
}

/// Records these requests in order; also returns the context of each access. The line of data
/// `line` has the number `DATA / 64 + line`.
pub fn record(path: &Path, requests: &[Served]) -> (Trace, Vec<Made>) {
    let mut server = Server::new(path);
    let threads = requests.iter().map(|of| of.thread + 1).max().unwrap_or(0);
    for thread in 0..threads as u32 {
        server.writer.thread(1, thread + 1).unwrap();
    }
    for (number, served) in requests.iter().enumerate() {
        let thread = ThreadId::from_index(served.thread);
        server.request = number;
        server.writer.stamp(thread, number as u64).unwrap();
        server.writer.request(thread).unwrap();
        if let Some(connection) = served.connection {
            server.writer.connection(thread, connection).unwrap();
        }
        // An execution begins each request, so that none is empty.
        server.run(thread, server.working, 0, None);
        for &action in &served.actions {
            server.act(thread, action);
        }
        while !server.within.is_empty() {
            server.act(thread, Action::Return);
        }
    }
    for thread in 0..threads {
        server.writer.request(ThreadId::from_index(thread)).unwrap();
    }
    server.writer.finish(EndReason::RequestsReached).unwrap();
    (Trace::open(path).unwrap(), server.made)
}

/// Returns all functions.
pub fn functions() -> Vec<FunctionId> {
    (0..FUNCTIONS).map(FunctionId).collect()
}
