//! The connections of a trace: a stream for each thread that served requests.
//!
//! A connection is a thread. Its stream contains the references of its complete requests, in order.
//! Excluded are requests truncated by the end of the recording, and everything outside requests: a
//! thread before its first request, and threads that serve none. No client waits for those, and
//! their frequency is unknown. All simulated settings share the streams and the numbers of their
//! lines.

use super::annotate::{Annotate, Unknown};
use super::branches::Branching;
use super::stream::{Mark, Stream, kind_of};
use crate::branches::{Branch, BranchPredictorName};
use crate::prefetchers::registry::PrefetcherName;
use crate::timing::error::Error;
use crate::{Lines, PlacedThread, Split};
use corehop_traces::{Calls, Execution, Executions, FunctionId, RequestId, ThreadId, Trace};

/// The streams of a trace's connections.
pub struct Streams {
    /// Indexed by connection.
    streams: Vec<Stream>,
    /// Line numbers, indexed by id.
    lines: Vec<u64>,
    /// The branches and where they led, indexed by the streams; `None` if they are not kept.
    branches: Option<Vec<Branch>>,
}

/// What streams have to contain besides references.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// What this prefetcher needs.
    pub prefetcher: PrefetcherName,
    /// What this branch predictor needs.
    pub branch_predictor: BranchPredictorName,
}

/// Number of lines whose ids are found without hashing.
const RECENT_LINES: usize = 1 << 12;

impl Streams {
    /// Creates the streams of `trace`, with marks where these splits may move threads.
    ///
    /// # Errors
    /// [`Error::NoConnections`] if no thread served a complete request, [`Error::Trace`] if the
    /// trace cannot be read.
    pub fn new(trace: &Trace, splits: &[&Split]) -> Result<Streams, Error> {
        let of = (trace, trace.executions());
        Streams::annotated(of, splits, &mut Unknown, Needs::default())
    }

    /// Creates the streams, including what core models and predictors need.
    ///
    /// # Errors
    /// Those of [`Streams::new`].
    pub fn annotated<A: Annotate>(
        (trace, executions): (&Trace, Executions<'_>),
        splits: &[&Split],
        annotate: &mut A,
        needs: Needs,
    ) -> Result<Streams, Error> {
        let mut threads = Threads::of(trace, splits)?;
        if needs.branch_predictor != BranchPredictorName::None {
            threads.branching = Some(Branching::new(trace.threads().len()));
        }
        if needs.prefetcher.needs_instructions() {
            threads.keep_instructions();
        }
        threads.read(trace, executions, annotate)
    }

    /// Returns whether the streams contain the instruction of each reference.
    pub(crate) fn have_instructions(&self) -> bool {
        let mut streams = self.streams.iter();
        streams.all(|stream| stream.instructions.is_some())
    }

    /// Returns the branches, indexed by the streams' entries; `None` if they are not kept.
    pub(crate) fn branches(&self) -> Option<&[Branch]> {
        self.branches.as_deref()
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.streams.len()
    }

    /// Returns the number of requests of the first `connections` connections, including repeated
    /// ones.
    pub fn requests(&self, connections: usize) -> u64 {
        let requests = |stream: &Stream| stream.requests.len() as u64;
        self.first(connections).map(requests).sum()
    }

    /// Returns the number of references of the first `connections` connections in their requests.
    pub fn references(&self, connections: usize) -> u64 {
        let references = self.first(connections).map(|stream| stream.references);
        references.sum()
    }

    /// Returns the memory size of the streams in bytes.
    pub fn size_bytes(&self) -> usize {
        let of_stream = |stream: &Stream| {
            stream.entries.capacity() * size_of::<u32>()
                + stream.address_from.capacity()
                + stream.instructions.as_ref().map_or(0, Vec::capacity) * size_of::<u32>()
                + stream.requests.capacity() * size_of::<usize>()
                + stream.marks.capacity() * size_of::<Mark>()
        };
        let streams: usize = self.streams.iter().map(of_stream).sum();
        let branches = self.branches.as_ref().map_or(0, Vec::capacity);
        streams + self.lines.capacity() * size_of::<u64>() + branches * size_of::<Branch>()
    }

    /// Returns the number of references of the first `connections` connections in each stage of a
    /// split, if each connection executes its stream once.
    pub(crate) fn references_by_stage(&self, split: &Split, connections: usize) -> Vec<u64> {
        let mut by_stage = vec![0; split.cores() as usize];
        for stream in self.first(connections) {
            let mut thread = PlacedThread::default();
            let ends = stream.marks.iter().skip(1).map(|mark| mark.at);
            let ends = ends.chain([stream.entries.len()]);
            for (mark, end) in stream.marks.iter().zip(ends) {
                mark.pass(&mut thread, split);
                let entries = stream.entries[mark.at..end].iter();
                let references = entries.filter(|&&entry| kind_of(entry).is_ok()).count();
                by_stage[thread.core().index()] += references as u64;
            }
        }
        by_stage
    }

    /// Returns the stream of a connection, and the request with which it begins. Connections beyond
    /// those of the trace repeat them round-robin, each with a different start: of k connections
    /// with the same stream, the i-th begins with request i / k of it, rounded down.
    pub(crate) fn of(&self, connection: usize, connections: usize) -> (&Stream, usize) {
        let available = self.streams.len();
        let own = connection % available;
        let stream = &self.streams[own];
        let sharers = (connections - own).div_ceil(available);
        let first = stream.requests.len() * (connection / available) / sharers;
        (stream, first)
    }

    /// Returns the numbers of the lines, indexed by id.
    pub(crate) fn lines(&self) -> &[u64] {
        &self.lines
    }

    fn first(&self, connections: usize) -> impl Iterator<Item = &Stream> {
        self.streams.iter().cycle().take(connections)
    }
}

/// The state of the threads while the trace is read.
struct Threads {
    threads: Vec<Thread>,
    /// For each function, whether a split moves threads at its entry.
    hooked: Vec<bool>,
    calls: Option<Calls>,
    branching: Option<Branching>,
}

#[derive(Default)]
struct Thread {
    stream: Stream,
    request: Option<RequestId>,
    /// Execution numbers before which a delegated call has ended; ascending.
    ends: Vec<u64>,
    ends_passed: usize,
}

impl Threads {
    fn of(trace: &Trace, splits: &[&Split]) -> Result<Threads, Error> {
        let functions = trace.functions().len();
        let (mut hooked, mut delegated) = (vec![false; functions], vec![false; functions]);
        for split in splits {
            for function in split.functions().filter(|f| f.index() < functions) {
                hooked[function.index()] = true;
                delegated[function.index()] |= split.delegates(function);
            }
        }
        let any = delegated.contains(&true);
        let calls = any.then(|| Calls::of(trace, &delegated)).transpose()?;
        let of_thread = |thread| {
            let calls = calls.iter().flat_map(|calls| calls.of_thread(thread));
            let mut ends: Vec<u64> = calls.filter_map(|call| call.ends).collect();
            ends.sort_unstable();
            Thread {
                ends,
                ..Thread::default()
            }
        };
        let threads = (0..trace.threads().len()).map(ThreadId::from_index);
        Ok(Threads {
            threads: threads.map(of_thread).collect(),
            hooked,
            calls,
            branching: None,
        })
    }

    fn keep_instructions(&mut self) {
        let streams = self.threads.iter_mut().map(|thread| &mut thread.stream);
        streams.for_each(|stream| stream.instructions = Some(Vec::new()));
    }

    /// Reads the streams of these executions.
    fn read<A: Annotate>(
        mut self,
        trace: &Trace,
        mut executions: Executions<'_>,
        annotate: &mut A,
    ) -> Result<Streams, Error> {
        let mut lines = Lines::new(RECENT_LINES);
        let mut address_from = Vec::new();
        while let Some(execution) = executions.next()? {
            address_from.clear();
            let instructions = annotate.execution(&execution, &mut address_from);
            self.branch(trace, &execution);
            let Some(stream) = self.begin(trace, &execution) else {
                continue;
            };
            stream.push_instructions(instructions);
            let mut from = address_from.iter().copied();
            for access in execution.accesses {
                for line in access.lines() {
                    let reference = (lines.id(line, |_| {}), access.kind);
                    stream.push_reference(reference, from.next().unwrap_or(0), access.pc);
                }
            }
            if let Some(branching) = &mut self.branching {
                branching.end(trace, &execution);
            }
        }
        let branches = self.branching.take().map(Branching::finish);
        let streams = self.finish();
        match streams.is_empty() {
            true => Err(Error::NoConnections),
            false => Ok(Streams {
                streams,
                lines: lines.numbers().to_vec(),
                branches,
            }),
        }
    }

    /// Adds the branch by which the thread came to this execution to its stream.
    fn branch(&mut self, trace: &Trace, execution: &Execution<'_>) {
        if let Some(branching) = &mut self.branching
            && let Some((branch, depends_on)) = branching.come(trace, execution)
        {
            let stream = &mut self.threads[execution.thread.index()].stream;
            stream.push_branch(branch, depends_on);
        }
    }

    /// Begins an execution. Returns its stream if it belongs to a complete request.
    fn begin(&mut self, trace: &Trace, execution: &Execution<'_>) -> Option<&mut Stream> {
        let thread = &mut self.threads[execution.thread.index()];
        let number = execution.number;
        let mut returned = false;
        while thread
            .ends
            .get(thread.ends_passed)
            .is_some_and(|&end| end <= number)
        {
            thread.ends_passed += 1;
            returned = true;
        }
        let request = execution.request?;
        if !trace.requests()[request.index()].complete {
            return None;
        }
        let stream = &mut thread.stream;
        if thread.request != Some(request) {
            thread.request = Some(request);
            stream.begin_request();
        }
        let is_hooked = |f: &FunctionId| self.hooked.get(f.index()) == Some(&true);
        let entered = execution.entry.filter(is_hooked);
        if entered.is_some() || returned || stream.marks.is_empty() {
            let calls = self.calls.as_ref().filter(|_| entered.is_some());
            let call = calls.and_then(|calls| calls.begun_by(execution.thread, number));
            stream.marks.push(Mark {
                at: stream.entries.len(),
                thread: execution.thread,
                number,
                entered,
                call: call.map(|call| call.ends),
            });
        }
        Some(stream)
    }

    /// Returns the non-empty streams.
    fn finish(self) -> Vec<Stream> {
        let streams = self.threads.into_iter().map(|thread| thread.stream);
        let mut streams: Vec<Stream> = streams.filter(|s| !s.requests.is_empty()).collect();
        streams.iter_mut().for_each(Stream::finish);
        streams
    }
}
