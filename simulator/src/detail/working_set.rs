//! The lines that each request references, and the overlap with earlier requests.
//!
//! If two consecutive requests reference a line, the second one need not miss it, provided that a
//! cache could keep it. The overlap is therefore the potential gain, and the size shows whether a
//! cache is large enough. Requests on different threads overlap in time. Each is compared with
//! those that ended before it ended, so one number for each line is enough: the last request that
//! referenced it. Storing the sets of lines of recent requests would need much more memory for the
//! same result.

use crate::ids::LineId;
use corehop_traces::{Kind, RequestId, ThreadId, execution::LINE_SHIFT};
use serde::Serialize;

/// Number of recent requests in [`WorkingSet::shared_with_recent_lines`].
pub const RECENT_REQUESTS: u32 = 10;

/// The distinct lines that one request referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WorkingSet {
    /// The request.
    pub request: RequestId,
    /// Number of lines fetched.
    pub code_lines: u64,
    /// Number of lines loaded or stored.
    pub data_lines: u64,
    /// Number of lines of either kind; a line of code and data counts once.
    pub lines: u64,
    /// Lines that the previously ended request also referenced; `None` for the first request.
    pub shared_with_previous_lines: Option<u64>,
    /// Lines that any of the last [`RECENT_REQUESTS`] also referenced; `None` for the first
    /// request.
    pub shared_with_recent_lines: Option<u64>,
}

impl WorkingSet {
    /// Returns the size of all lines in bytes.
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
    /// For each line, how this request referenced it.
    referenced: Vec<u8>,
    /// The lines that it referenced.
    lines: Vec<LineId>,
}

/// Collects working sets, access by access. The caller numbers lines densely from 0.
#[derive(Default)]
pub struct WorkingSets {
    /// Indexed by thread.
    open: Vec<Open>,
    current: usize,
    /// For each line: number, from 1, of the last ended request that referenced it; 0 for none.
    ended_last: Vec<u32>,
    ended: u32,
    sets: Vec<WorkingSet>,
}

impl WorkingSets {
    /// Attributes the following references to `thread`, which is serving `request`. A request ends
    /// when its thread serves another, or none.
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

    /// References `line`; references outside requests are not counted.
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

    /// Returns the working sets of all requests, by ascending number.
    pub fn finish(mut self) -> Vec<WorkingSet> {
        for thread in 0..self.open.len() {
            self.end(thread);
        }
        self.sets.sort_unstable_by_key(|set| set.request);
        self.sets
    }
}

/// Two statistics of a set of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The median; of two middle values, the larger.
    pub median: u64,
    /// The maximum.
    pub largest: u64,
}

impl Spread {
    /// Computes the statistics of these numbers; zeros if there are none.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Spread {
        let mut sorted: Vec<u64> = numbers.into_iter().collect();
        sorted.sort_unstable();
        Spread {
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(0),
            largest: sorted.last().copied().unwrap_or(0),
        }
    }
}
