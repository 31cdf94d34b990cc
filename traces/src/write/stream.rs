//! What a writer holds of one thread: the chunk being gathered, and the execution being made.

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
    /// The number of the request that begins with it, if one does; 0 where it is not known.
    request: Option<u64>,
    /// The connection of that request; 0 where it is not known.
    connection: u64,
}

/// An execution whose accesses are still coming in.
pub struct Open {
    /// The code block's number.
    pub code_block: u32,
    /// What begins with it.
    pub beginning: Beginning,
}

/// One thread's side of a writer.
#[derive(Default)]
pub struct ThreadStream {
    /// The executions that are not written yet, without the open one.
    pub finder: MatchFinder,
    /// What else there is to them.
    pub chunk: RawChunk,
    /// The next execution belongs to the last run and request of the chunk, and none is open.
    pub goes_on: bool,
    /// The thread's last execution, while its accesses come one by one.
    pub open: Option<Open>,
    /// What the open execution did, without addresses.
    pub open_accesses: Vec<DataAccess>,
    /// Room for the number of its template, and the addresses to go with it.
    pub open_words: Vec<u64>,
    /// The largest stamp so far.
    pub last_stamp: Option<u64>,
    /// A stamp that no execution has followed yet.
    pub next_stamp: Option<u64>,
    /// The number of a request whose mark no execution has followed yet; 0 where it is not known.
    pub next_request: Option<u64>,
    /// The connection of that request; 0 where it is not known.
    pub next_connection: u64,
    /// The number of the system call that the thread is in.
    pub open_call: Option<i32>,
    /// A request has ended, and nothing has followed yet.
    pub request_ended: bool,
}

impl ThreadStream {
    /// A thread that has done nothing.
    pub fn new(thread: ThreadId) -> ThreadStream {
        ThreadStream {
            chunk: RawChunk {
                thread,
                ..RawChunk::default()
            },
            ..ThreadStream::default()
        }
    }

    /// What begins with the thread's next execution; `None` before its first stamp.
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

    /// Adds the executions at the head of `words` that go on with a match.
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

    /// Marks the end of a request where no other begins.
    pub fn close_request(&mut self) {
        if std::mem::take(&mut self.request_ended) {
            self.chunk.requests.push(self.finder.executions() as u32);
            self.chunk.numbers.push(0);
            self.chunk.connections.push(0);
        }
    }

    /// Turns a mark that no execution has followed into one that ends the thread's last request.
    pub fn close_last_request(&mut self) {
        self.request_ended |= self.next_request.take().is_some();
        self.close_request();
    }

    /// Takes what is to be written as a chunk.
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
    /// Whether a request begins.
    pub fn begins_request(&self) -> bool {
        self.request.is_some()
    }
}
