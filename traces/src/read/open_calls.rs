//! The open calls of each thread: its call stack, as far as it can be derived from a trace.
//!
//! A trace contains the entries of functions; [`Calls`] finds where calls return. A call may end
//! after the recording or in an unrecorded part. Such a call ends with its request, so that no
//! stack grows from request to request.

use crate::model::execution::Execution;
use crate::model::ids::{FunctionId, RequestId, ThreadId};
use crate::read::calls::Calls;

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The function.
    pub function: FunctionId,
    ends: Option<u64>,
    request: Option<RequestId>,
}

/// The open calls of all threads.
pub struct OpenCalls<'c> {
    calls: &'c Calls,
    threads: Vec<Vec<OpenCall>>,
}

impl<'c> OpenCalls<'c> {
    /// Starts without open calls; `calls` contains those of all functions.
    pub fn new(calls: &'c Calls, threads: usize) -> OpenCalls<'c> {
        OpenCalls {
            calls,
            threads: vec![Vec::new(); threads],
        }
    }

    /// Processes the next execution. Returns how many calls of its thread have ended before it, and
    /// the function whose call it begins. A signal handler's executions belong to the interrupted
    /// function.
    pub fn come(&mut self, execution: &Execution<'_>) -> (usize, Option<FunctionId>) {
        let (thread, number) = (execution.thread, execution.number);
        let open = &mut self.threads[thread.index()];
        let before = open.len();
        let request = execution.request;
        let has_ended = |open: &OpenCall| match open.ends {
            Some(ends) => ends <= number,
            None => open.request != request,
        };
        // Calls end from the inside out, so the end of an outer call also ends all inner ones.
        if let Some(place) = open.iter().position(has_ended) {
            open.truncate(place);
        }
        let ended = before - open.len();
        let begun = self.calls.begun_by(thread, number);
        open.extend(begun.map(|call| OpenCall {
            function: call.function,
            ends: call.ends,
            request,
        }));
        (ended, begun.map(|call| call.function))
    }

    /// Returns the open calls of a thread, innermost last.
    pub fn of(&self, thread: ThreadId) -> &[OpenCall] {
        &self.threads[thread.index()]
    }
}
