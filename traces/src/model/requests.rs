//! The requests of a trace, found from the marks in the threads' chunks.

use crate::model::ids::{RequestId, ThreadId};
use crate::model::program::Request;

/// A request mark of a thread.
#[derive(Clone, Copy)]
pub struct Mark {
    /// Stamp of its run; `None` for a mark that only ends the preceding request.
    pub stamp: Option<u64>,
    /// The request's number among all that the server served, if it is known.
    pub number: Option<u64>,
    /// The request's connection, if it is known.
    pub connection: Option<u64>,
}

/// All requests, and the request that each mark of each thread begins.
#[derive(Default)]
pub struct Requests {
    /// In the order in which a replay reaches their marks.
    pub all: Vec<Request>,
    /// By thread and mark; `None` for a mark that begins no request.
    begun: Vec<Vec<Option<RequestId>>>,
}

impl Requests {
    /// Numbers the requests; `marks` contains each thread's marks in order.
    ///
    /// A request is complete if its thread has a later mark: only a mark shows where a request
    /// ended.
    pub fn new(marks: &[&[Mark]]) -> Requests {
        let mut order = Vec::new();
        for (thread, own) in marks.iter().enumerate() {
            for (place, mark) in own.iter().enumerate() {
                if let Some(stamp) = mark.stamp {
                    order.push((stamp, thread, place));
                }
            }
        }
        order.sort_unstable();
        let mut begun: Vec<_> = marks.iter().map(|own| vec![None; own.len()]).collect();
        let mut all = Vec::with_capacity(order.len());
        for (_, thread, place) in order {
            begun[thread][place] = Some(RequestId::from_index(all.len()));
            all.push(Request {
                thread: ThreadId::from_index(thread),
                number: marks[thread][place].number,
                connection: marks[thread][place].connection,
                complete: place + 1 < marks[thread].len(),
            });
        }
        Requests { all, begun }
    }

    /// Returns the request that a thread serves after `marks_passed` of its marks.
    pub fn after(&self, thread: ThreadId, marks_passed: u32) -> Option<RequestId> {
        let place = marks_passed.checked_sub(1)?;
        *self.begun[thread.index()].get(place as usize)?
    }
}
