//! The core of one thread under one split.
//!
//! A thread moves when it makes its next execution. If a call that the split delegates has ended
//! before it, the thread returns to the core that it came from. If the execution enters a function
//! of the split, the thread then moves to that function's core.
//!
//! While a delegated call is open, other functions may move the thread; the call's end returns it
//! to its core at the start of the call. A function that calls itself, or jumps to another, opens a
//! call at each entry. They end in reverse order.
//!
//! A function that selects its core by an argument moves the thread to the core of the call's
//! object. If there is no object or it is unknown, the thread stays. The call opens in both cases.
//!
//! No call begins in a signal handler. A delegated function therefore does not move the thread
//! there, as in a patched server; a function that is not delegated does.

use super::split::Split;
use crate::ids::CoreId;
use corehop_traces::{FunctionId, ThreadId};

/// Why a thread is on its current core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameBy {
    /// The entry of a function.
    Entry(FunctionId),
    /// The end of a delegated call of this function.
    End(FunctionId),
}

/// A thread's core, and the open delegated calls that will return it to others.
#[derive(Clone, Debug, Default)]
pub struct PlacedThread {
    core: CoreId,
    /// Open calls, the innermost last.
    open: Vec<Open>,
}

/// A delegated call.
#[derive(Clone, Copy, Debug)]
struct Open {
    ends: Option<u64>,
    came_from: CoreId,
    function: FunctionId,
}

impl PlacedThread {
    /// Creates a thread that starts on this core.
    pub fn on(core: CoreId) -> PlacedThread {
        PlacedThread {
            core,
            open: Vec::new(),
        }
    }

    /// Returns the thread's current core.
    #[inline]
    pub fn core(&self) -> CoreId {
        self.core
    }

    /// Processes execution `number` of `thread`, which may enter a function. `call` returns the
    /// call that begins there, if any, with its end as far as the trace contains it. Returns why
    /// the thread is on its core from now on, if the split determines it; the core may be
    /// unchanged. If several calls end, the last one counts.
    #[inline]
    pub fn come(
        &mut self,
        split: &Split,
        (thread, number): (ThreadId, u64),
        entered: Option<FunctionId>,
        call: impl FnOnce() -> Option<Option<u64>>,
    ) -> Option<CameBy> {
        let mut by = None;
        let has_ended = |open: &mut Open| open.ends.is_some_and(|end| end <= number);
        while let Some(ended) = self.open.pop_if(has_ended) {
            self.core = ended.came_from;
            by = Some(CameBy::End(ended.function));
        }
        if let Some(function) = entered
            && split.moves(function)
        {
            if split.delegates(function) {
                let Some(ends) = call() else {
                    return by;
                };
                let came_from = self.core;
                self.open.push(Open {
                    ends,
                    came_from,
                    function,
                });
            }
            if let Some(core) = split.core_of_entry(function, thread, number) {
                self.core = core;
                by = Some(CameBy::Entry(function));
            }
        }
        by
    }

    /// Prepares for another round: all open calls end before the next execution.
    pub fn begin_again(&mut self) {
        self.open.iter_mut().for_each(|open| open.ends = Some(0));
    }
}
