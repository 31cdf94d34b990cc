//! A writer's state of one thread: the chunk being collected, and the open execution.

use crate::codec::match_finder::{Arrival, Followed, HashTable, MatchFinder};
use crate::codec::template::DataAccess;
use crate::format::raw_chunk::RawChunk;
use crate::model::ids::ThreadId;
use crate::model::run::Run;

/// What begins with an execution.
pub struct Beginning {
    /// The stamp of the run that it belongs to.
    stamp: u64,
    /// Whether that run begins with it.
    begins_run: bool,
    /// The number of the request that begins with it, if there is one; 0 if it is not known.
    request: Option<u64>,
    /// The connection of that request; 0 if it is not known.
    connection: u64,
}

/// An execution that still receives accesses.
pub struct Open {
    /// The code block's number.
    pub code_block: u32,
    /// What begins with it.
    pub beginning: Beginning,
}

/// One thread's side of a writer.
#[derive(Default)]
pub struct ThreadStream {
    /// The executions that are not written yet, except the open one.
    pub finder: MatchFinder,
    /// Their runs, marks and system calls.
    pub chunk: RawChunk,
    /// The next execution belongs to the last run and request of the chunk, and none is open.
    pub goes_on: bool,
    /// The thread's last execution, while its accesses are added one by one.
    pub open: Option<Open>,
    /// Data accesses of the open execution, without addresses.
    pub open_accesses: Vec<DataAccess>,
    /// A slot for the number of its template, followed by its addresses.
    pub open_words: Vec<u64>,
    /// The largest stamp so far.
    pub last_stamp: Option<u64>,
    /// A stamp without an execution yet.
    pub next_stamp: Option<u64>,
    /// The number of a request whose mark has no execution yet; 0 if it is not known.
    pub next_request: Option<u64>,
    /// The connection of that request; 0 if it is not known.
    pub next_connection: u64,
    /// The number of the system call that the thread is executing.
    pub open_call: Option<i32>,
    /// Whether a request has ended without anything after it.
    pub request_ended: bool,
}

impl ThreadStream {
    /// Creates the state of a thread without executions.
    pub fn new(thread: ThreadId) -> ThreadStream {
        ThreadStream {
            chunk: RawChunk {
                thread,
                ..RawChunk::default()
            },
            ..ThreadStream::default()
        }
    }

    /// Takes what begins with the thread's next execution; `None` before its first stamp.
    pub fn take_beginning(&mut self) -> Option<Beginning> {
        Some(Beginning {
            stamp: self.last_stamp?,
            begins_run: self.next_stamp.take().is_some(),
            request: self.next_request.take(),
            connection: std::mem::take(&mut self.next_connection),
        })
    }

    /// Marks what begins with the execution that is appended next.
    pub fn begin(&mut self, beginning: &Beginning) {
        let chunk = &mut self.chunk;
        if let Some(number) = beginning.request {
            chunk.requests.push(self.finder.executions() as u32);
            chunk.numbers.push(number);
            chunk.connections.push(beginning.connection);
        }
        if beginning.begins_run || chunk.runs.is_empty() {
            chunk.runs.push(Run {
                stamp: beginning.stamp,
                executions: 0,
            });
        }
    }

    /// Adds an execution to the last run.
    #[inline]
    pub fn append(
        &mut self,
        table: &mut HashTable,
        arrival: Arrival<'_, impl Iterator<Item = u64>>,
    ) {
        self.finder.push(table, arrival);
        self.lengthen_run(1);
    }

    /// Adds the executions at the start of `words` that continue a match.
    #[inline]
    pub fn follow(&mut self, words: &[u64], begins: impl Fn(u64) -> bool) -> Followed {
        let followed = self.finder.follow(words, begins);
        self.lengthen_run(followed.executions as u32);
        followed
    }

    fn lengthen_run(&mut self, executions: u32) {
        if let Some(run) = self.chunk.runs.last_mut() {
            run.executions += executions;
        }
    }

    /// Marks the end of a request that no other request follows directly.
    pub fn close_request(&mut self) {
        if std::mem::take(&mut self.request_ended) {
            self.chunk.requests.push(self.finder.executions() as u32);
            self.chunk.numbers.push(0);
            self.chunk.connections.push(0);
        }
    }

    /// Turns a mark without an execution into one that ends the thread's last request.
    pub fn close_last_request(&mut self) {
        self.request_ended |= self.next_request.take().is_some();
        self.close_request();
    }

    /// Takes the collected chunk, to be written.
    pub fn take_chunk(&mut self) -> RawChunk {
        let next = RawChunk {
            thread: self.chunk.thread,
            ..RawChunk::default()
        };
        self.goes_on = false;
        let mut chunk = std::mem::replace(&mut self.chunk, next);
        chunk.fill(&mut self.finder);
        chunk
    }
}

impl Beginning {
    /// Returns whether a request begins.
    pub fn begins_request(&self) -> bool {
        self.request.is_some()
    }
}
