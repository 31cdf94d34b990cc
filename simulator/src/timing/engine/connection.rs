//! One connection on its way through its stream, and the requests that it has been sent.

use crate::PlacedThread;
use crate::timing::streams::stream::{Mark, Stream};
use std::collections::VecDeque;

pub(crate) struct Connection<'a> {
    pub stream: &'a Stream,
    /// Where the split has its thread.
    pub placed: PlacedThread,
    /// The core that the thread is on, or was on last.
    pub core: usize,
    /// The request of the stream that it is in or comes to next.
    request: usize,
    /// The stream's next entry.
    pub at: usize,
    next_mark: usize,
    /// When the requests that have not ended came, the one that is served first.
    came: VecDeque<u64>,
    /// Since when the thread waits for a request or, before it has served one, 0.
    free_since: u64,
}

impl<'a> Connection<'a> {
    /// A connection that begins with this request of its stream.
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

    /// A request comes. If the thread waited for one, from when on it can run.
    pub fn send(&mut self, cycle: u64) -> Option<u64> {
        self.came.push_back(cycle);
        (self.came.len() == 1).then(|| cycle.max(self.free_since))
    }

    /// Whether the request that is served has no more entries.
    pub fn is_at_end(&self) -> bool {
        self.at == self.stream.end_of(self.request)
    }

    /// The served request ends: when it had come, and whether another one waits.
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

    /// The next mark, if it is here; it is passed with that.
    pub fn take_mark(&mut self) -> Option<&'a Mark> {
        let stream = self.stream;
        let mark = stream.marks.get(self.next_mark)?;
        if mark.at != self.at {
            return None;
        }
        self.next_mark += 1;
        Some(mark)
    }

    /// The entry before which it must stop, for a mark or the request's end.
    pub fn stop(&self) -> usize {
        let end = self.stream.end_of(self.request);
        let mark = self.stream.marks.get(self.next_mark);
        mark.map_or(end, |mark| mark.at.min(end))
    }
}
