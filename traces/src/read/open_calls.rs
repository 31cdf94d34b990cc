//! Which calls are open: the stack of each thread, as far as a trace tells it.
//!
//! A trace has the entries of functions, and where calls return can be found
//! ([`Calls`]). A call whose end is not seen, because it ends after the recording
//! or in what was not recorded, ends with its request, so that no stack grows from request to
//! request.

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
    /// `calls` has those of all functions.
    pub fn new(calls: &'c Calls, threads: usize) -> OpenCalls<'c> {
        OpenCalls {
            calls,
            threads: vec![Vec::new(); threads],
        }
    }

    /// An execution comes next: how many calls of its thread have ended before it, and the function
    /// whose call it begins. What a signal handler does is of the function that it interrupts.
    pub fn come(&mut self, execution: &Execution<'_>) -> (usize, Option<FunctionId>) {
        let (thread, number) = (execution.thread, execution.number);
        let open = &mut self.threads[thread.index()];
        let before = open.len();
        let request = execution.request;
        let has_ended = |open: &OpenCall| match open.ends {
            Some(ends) => ends <= number,
            None => open.request != request,
        };
        // Calls end from the inside out, so what one outside has ended takes all inside with it.
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

    /// The open calls of a thread, the innermost last.
    pub fn of(&self, thread: ThreadId) -> &[OpenCall] {
        &self.threads[thread.index()]
    }
}
