//! Which lines each request references, and how many of them requests before it referenced.
//!
//! A line that two requests in a row reference need not be missed by the second one, if a cache
//! could keep it; so the overlap says what there is to gain, and the size whether a cache can.
//! Requests on different threads overlap in time; each is compared with those that ended before it
//! ended, so that for each line the number of the last request to reference it is all there is to
//! remember. Sets of lines for the last requests would say the same in much more memory.

use crate::ids::LineId;
use corehop_traces::{Kind, RequestId, ThreadId, execution::LINE_SHIFT};
use serde::Serialize;

/// How many requests are the last ones that [`WorkingSet::shared_with_recent_lines`] speaks of.
pub const RECENT_REQUESTS: u32 = 10;

/// The lines that one request referenced, each counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WorkingSet {
    /// The request.
    pub request: RequestId,
    /// Lines fetched from.
    pub code_lines: u64,
    /// Lines loaded from or stored to.
    pub data_lines: u64,
    /// Lines referenced in either way; a line of code and data counts once.
    pub lines: u64,
    /// Those that the request that ended last before this one referenced too; `None` for the first.
    pub shared_with_previous_lines: Option<u64>,
    /// Those that any of the last [`RECENT_REQUESTS`] referenced too; `None` for the first.
    pub shared_with_recent_lines: Option<u64>,
}

impl WorkingSet {
    /// All lines together, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.lines << LINE_SHIFT
    }
}

const CODE: u8 = 1;
const DATA: u8 = 2;

/// The request that a thread is serving.
#[derive(Default)]
struct Open {
    request: Option<RequestId>,
    /// By line: how this request referenced it.
    referenced: Vec<u8>,
    /// The lines that it referenced.
    lines: Vec<LineId>,
}

/// Collects working sets, access by access. Lines are numbered by the caller, densely from 0.
#[derive(Default)]
pub struct WorkingSets {
    /// By thread.
    open: Vec<Open>,
    current: usize,
    /// By line: number, from 1, of the request that referenced it and ended last; 0 for none.
    ended_last: Vec<u32>,
    ended: u32,
    sets: Vec<WorkingSet>,
}

impl WorkingSets {
    /// What is referenced from now on is referenced by `thread`, which is serving `request`. A
    /// request ends when its thread serves another, or none.
    pub fn serve(&mut self, thread: ThreadId, request: Option<RequestId>) {
        self.current = thread.index();
        if self.open.len() <= self.current {
            self.open.resize_with(self.current + 1, Open::default);
        }
        if self.open[self.current].request != request {
            self.end(self.current);
            self.open[self.current].request = request;
        }
    }

    /// References `line`; outside requests this counts nowhere.
    pub fn reference(&mut self, kind: Kind, line: LineId) {
        let Some(open) = self.open.get_mut(self.current) else {
            return;
        };
        if open.request.is_none() {
            return;
        }
        if line.index() >= open.referenced.len() {
            open.referenced.resize(line.index() + 1, 0);
        }
        let referenced = &mut open.referenced[line.index()];
        if *referenced == 0 {
            open.lines.push(line);
        }
        *referenced |= match kind {
            Kind::Fetch => CODE,
            Kind::Load | Kind::Store => DATA,
        };
    }

    fn end(&mut self, thread: usize) {
        let open = &mut self.open[thread];
        let Some(request) = open.request.take() else {
            return;
        };
        let number = self.ended + 1;
        let mut counted = [0; 4];
        let (mut previous, mut recent) = (0, 0);
        for line in open.lines.drain(..) {
            let line = line.index();
            counted[usize::from(std::mem::take(&mut open.referenced[line]))] += 1;
            if line >= self.ended_last.len() {
                self.ended_last.resize(line + 1, 0);
            }
            let last = std::mem::replace(&mut self.ended_last[line], number);
            previous += u64::from(last > 0 && last == self.ended);
            recent += u64::from(last > 0 && last + RECENT_REQUESTS >= number);
        }
        let [_, code, data, both] = counted;
        self.sets.push(WorkingSet {
            request,
            code_lines: code + both,
            data_lines: data + both,
            lines: code + data + both,
            shared_with_previous_lines: (self.ended > 0).then_some(previous),
            shared_with_recent_lines: (self.ended > 0).then_some(recent),
        });
        self.ended = number;
    }

    /// The working sets of all requests, in the order of their numbers.
    pub fn finish(mut self) -> Vec<WorkingSet> {
        for thread in 0..self.open.len() {
            self.end(thread);
        }
        self.sets.sort_unstable_by_key(|set| set.request);
        self.sets
    }
}

/// Two numbers that stand for many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The middle one in order of size; of two in the middle, the larger.
    pub median: u64,
    /// The largest.
    pub largest: u64,
}

impl Spread {
    /// Of these numbers; zeros when there are none.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Spread {
        let mut sorted: Vec<u64> = numbers.into_iter().collect();
        sorted.sort_unstable();
        Spread {
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(0),
            largest: sorted.last().copied().unwrap_or(0),
        }
    }
}
