//! Functions that move a thread only at selected calls of each request, and the positions of these
//! calls.
//!
//! Calls are numbered for each thread, from 1 when the thread begins a request. Before a replay,
//! one pass over the trace finds the executions that enter the selected calls; the replay looks
//! them up. Executions outside requests have no number.

use crate::error::Error;
use crate::ids::CoreId;
use corehop_plan::KthCall;
use corehop_traces::{Calls, FunctionId, RequestId, ThreadId, Trace};
use std::collections::HashMap;

/// The calls that move threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KthCalls {
    /// For each thread: numbers of the executions that enter such a call, ascending, and the
    /// destination core.
    homes: Vec<Vec<(u64, CoreId)>>,
    functions: Vec<(FunctionId, KthCall)>,
}

/// All calls of some functions in requests, numbered.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberedCalls {
    /// The calls of each function, in trace order.
    calls: HashMap<FunctionId, Vec<NumberedCall>>,
    threads: usize,
}

/// A call: the execution that enters it, and its number in the request.
#[derive(Clone, Copy, Debug)]
struct NumberedCall {
    thread: ThreadId,
    number: u64,
    call: u32,
}

/// The calls of a function on a thread.
#[derive(Clone, Copy, Default)]
struct Counted {
    request: Option<RequestId>,
    calls: u32,
}

impl NumberedCalls {
    /// Finds the calls of these functions. `delegated` marks, for each function, whether its thread
    /// returns when a call ends. As in a patched program, a call of such a function in a signal
    /// handler is not counted.
    ///
    /// # Errors
    /// [`Error::Trace`] if the trace cannot be read.
    pub fn of(
        trace: &Trace,
        functions: impl IntoIterator<Item = FunctionId>,
        delegated: &[bool],
    ) -> Result<NumberedCalls, Error> {
        let mut places = vec![None; trace.functions().len()];
        let mut calls = HashMap::new();
        for function in functions {
            places[function.index()].get_or_insert(calls.len());
            calls.insert(function, Vec::new());
        }
        let is_delegated = |function: FunctionId| delegated.get(function.index()) == Some(&true);
        let any = calls.keys().any(|function| is_delegated(*function));
        let ended = any.then(|| Calls::of(trace, delegated)).transpose()?;
        let mut counted = vec![vec![Counted::default(); calls.len()]; trace.threads().len()];
        let mut executions = trace.executions();
        while let Some(execution) = executions.next()? {
            let (Some(entered), Some(request)) = (execution.entry, execution.request) else {
                continue;
            };
            let Some(place) = places[entered.index()] else {
                continue;
            };
            let (thread, number) = (execution.thread, execution.number);
            let begins = |calls: &Calls| calls.begun_by(thread, number).is_some();
            if is_delegated(entered) && !ended.as_ref().is_some_and(begins) {
                continue;
            }
            let counted = &mut counted[thread.index()][place];
            if counted.request.replace(request) != Some(request) {
                counted.calls = 0;
            }
            counted.calls += 1;
            let call = counted.calls;
            let of_function = calls.entry(entered).or_insert_with(Vec::new);
            of_function.push(NumberedCall {
                thread,
                number,
                call,
            });
        }
        Ok(NumberedCalls {
            calls,
            threads: trace.threads().len(),
        })
    }
}

impl KthCalls {
    /// Selects the calls of these functions from `calls`, which contains all their calls. A
    /// function may be listed with several calls.
    pub(crate) fn of(calls: &NumberedCalls, functions: &[(FunctionId, KthCall)]) -> KthCalls {
        let mut homes = vec![Vec::new(); calls.threads];
        for (function, meant) in functions {
            let calls = calls.calls.get(function).into_iter().flatten();
            for call in calls.filter(|call| call.call == meant.call) {
                homes[call.thread.index()].push((call.number, CoreId(meant.core)));
            }
        }
        homes.iter_mut().for_each(|homes| homes.sort_unstable());
        KthCalls {
            homes,
            functions: functions.to_vec(),
        }
    }

    /// Returns the functions, each with a selected call.
    pub fn functions(&self) -> &[(FunctionId, KthCall)] {
        &self.functions
    }

    /// Returns the destination core if the thread's execution `number` enters a selected call.
    #[inline]
    pub(crate) fn home(&self, thread: ThreadId, number: u64) -> Option<CoreId> {
        let homes = self.homes.get(thread.index())?;
        let place = homes.binary_search_by_key(&number, |home| home.0).ok()?;
        Some(homes[place].1)
    }
}
