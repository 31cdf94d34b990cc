//! Which requests a reader wants to see, and so which chunks it has to read.
//!
//! Both ways to play a trace leave out the same executions because both ask here.

use crate::model::ids::{RequestId, ThreadId};
use crate::model::requests::Requests;
use crate::read::contents::ChunkLocation;

/// The requests that are wanted.
pub struct Wanted {
    /// By request; `None` for everything, also what belongs to no request.
    by_request: Option<Vec<bool>>,
}

impl Wanted {
    /// Wants these of `count` requests, `None` for everything. Those that there are not are
    /// nowhere to be found.
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

    /// Whether executions of this request are wanted.
    pub fn has(&self, request: Option<RequestId>) -> bool {
        let Some(wanted) = &self.by_request else {
            return true;
        };
        request.is_some_and(|request| wanted[request.index()])
    }

    /// Whether a thread's chunk may hold executions that are wanted.
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
