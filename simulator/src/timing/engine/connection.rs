//! One connection: its position in its stream, and its pending requests.

use crate::PlacedThread;
use crate::timing::streams::stream::{Mark, Stream};
use std::collections::VecDeque;

pub(crate) struct Connection<'a> {
    pub stream: &'a Stream,
    /// The position of its thread under the split.
    pub placed: PlacedThread,
    /// The core that the thread is on, or was on last.
    pub core: usize,
    /// The current or next request of the stream.
    request: usize,
    /// Index of the stream's next entry.
    pub at: usize,
    next_mark: usize,
    /// Arrival cycles of the requests that have not ended, the current one first.
    came: VecDeque<u64>,
    /// Cycle since which the thread waits for a request; 0 before its first one.
    free_since: u64,
}

impl<'a> Connection<'a> {
    /// Creates a connection that begins with this request of its stream.
    pub fn new((stream, request): (&'a Stream, usize), core: usize) -> Connection<'a> {
        let at = stream.requests[request];
        Connection {
            stream,
            placed: PlacedThread::default(),
            core,
            request,
            at,
            next_mark: stream.marks.partition_point(|mark| mark.at < at),
            came: VecDeque::new(),
            free_since: 0,
        }
    }

    /// Adds a request. If the thread was waiting for one, returns the cycle from which it can run.
    pub fn send(&mut self, cycle: u64) -> Option<u64> {
        self.came.push_back(cycle);
        (self.came.len() == 1).then(|| cycle.max(self.free_since))
    }

    /// Returns whether the current request has no more entries.
    pub fn is_at_end(&self) -> bool {
        self.at == self.stream.end_of(self.request)
    }

    /// Ends the current request. Returns its arrival cycle, and whether another one waits.
    pub fn end_request(&mut self, cycle: u64) -> (u64, bool) {
        self.request += 1;
        if self.request == self.stream.requests.len() {
            (self.request, self.at, self.next_mark) = (0, 0, 0);
            self.placed.begin_again();
        }
        self.free_since = cycle;
        let came = self.came.pop_front().unwrap_or(cycle);
        (came, !self.came.is_empty())
    }

    /// Returns the next mark and passes it, if it is at the current position.
    pub fn take_mark(&mut self) -> Option<&'a Mark> {
        let stream = self.stream;
        let mark = stream.marks.get(self.next_mark)?;
        if mark.at != self.at {
            return None;
        }
        self.next_mark += 1;
        Some(mark)
    }

    /// Returns the entry before which it must stop, for a mark or the request's end.
    pub fn stop(&self) -> usize {
        let end = self.stream.end_of(self.request);
        let mark = self.stream.marks.get(self.next_mark);
        mark.map_or(end, |mark| mark.at.min(end))
    }
}
