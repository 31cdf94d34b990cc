//! Selects requests, which determine the chunks to read.
//!
//! Both ways to play a trace use this, so they omit the same executions.

use crate::model::ids::{RequestId, ThreadId};
use crate::model::requests::Requests;
use crate::read::contents::ChunkLocation;

/// The selected requests.
pub struct Wanted {
    /// By request; `None` for everything, including executions outside requests.
    by_request: Option<Vec<bool>>,
}

impl Wanted {
    /// Selects these of `count` requests, or everything for `None`. Requests that do not exist are
    /// ignored.
    pub fn new(requests: Option<&[RequestId]>, count: usize) -> Wanted {
        let by_request = requests.map(|requests| {
            let mut wanted = vec![false; count];
            for &request in requests {
                if let Some(wanted) = wanted.get_mut(request.index()) {
                    *wanted = true;
                }
            }
            wanted
        });
        Wanted { by_request }
    }

    /// Returns whether executions of this request are selected.
    pub fn has(&self, request: Option<RequestId>) -> bool {
        let Some(wanted) = &self.by_request else {
            return true;
        };
        request.is_some_and(|request| wanted[request.index()])
    }

    /// Returns whether a thread's chunk may contain selected executions.
    pub fn has_some_in(
        &self,
        requests: &Requests,
        thread: ThreadId,
        place: &ChunkLocation,
    ) -> bool {
        let mut passed = place.marks_before..=place.marks_before + place.marks;
        self.by_request.is_none() || passed.any(|marks| self.has(requests.after(thread, marks)))
    }
}
