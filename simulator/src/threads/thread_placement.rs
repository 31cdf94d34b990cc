//! The threads of a replay, each with its core under one split; [`super::placed_thread`] implements
//! the rules.
//!
//! A thread that returns from a call and immediately enters a function makes one move, or none if
//! it ends up on the same core.
//!
//! Calls end where they end in the trace, independent of request boundaries and of the selected
//! requests. A call that ends in a part that is not replayed has ended at the thread's next
//! execution. A call whose end is not in the trace stays open.

use super::placed_thread::PlacedThread;
use super::split::Split;
use crate::error::Error;
use crate::ids::CoreId;
use corehop_traces::{Calls, FunctionId, ThreadId, Trace};

/// Finds the calls in `trace` that these splits delegate; `None` if they delegate none.
///
/// # Errors
/// [`Error::Trace`] if the trace cannot be read.
pub(crate) fn delegated_calls<'s>(
    trace: &Trace,
    splits: impl IntoIterator<Item = &'s Split>,
) -> Result<Option<Calls>, Error> {
    let mut delegated = vec![false; trace.functions().len()];
    for function in splits.into_iter().flat_map(Split::delegated) {
        if let Some(delegated) = delegated.get_mut(function.index()) {
            *delegated = true;
        }
    }
    let any = delegated.contains(&true);
    Ok(any.then(|| Calls::of(trace, &delegated)).transpose()?)
}

/// The positions of the threads of a replay.
pub(crate) struct ThreadPlacement<'a> {
    split: &'a Split,
    calls: Option<&'a Calls>,
    /// State of each thread; threads beyond the end are on their start core.
    threads: Vec<PlacedThread>,
}

impl<'a> ThreadPlacement<'a> {
    /// Places every thread on its start core in `split`. `calls` must contain those that the split
    /// delegates.
    pub fn new(split: &'a Split, calls: Option<&'a Calls>) -> ThreadPlacement<'a> {
        ThreadPlacement {
            split,
            calls,
            threads: Vec::new(),
        }
    }

    /// Returns the core that `thread` is on.
    pub fn core_of(&self, thread: ThreadId) -> CoreId {
        let known = self.threads.get(thread.index());
        known.map_or_else(|| self.split.start_core(thread), PlacedThread::core)
    }

    /// Processes execution `number` of a thread, which may enter a function. Returns the core it
    /// leaves and the one it runs on now; they may be equal.
    #[inline]
    pub fn come(
        &mut self,
        thread: ThreadId,
        number: u64,
        entered: Option<FunctionId>,
    ) -> (CoreId, CoreId) {
        while self.threads.len() <= thread.index() {
            let next = ThreadId::from_index(self.threads.len());
            let start = PlacedThread::on(self.split.start_core(next));
            self.threads.push(start);
        }
        let at = &mut self.threads[thread.index()];
        let left = at.core();
        at.come(self.split, (thread, number), entered, || {
            let call = self.calls?.begun_by(thread, number);
            call.map(|call| call.ends)
        });
        (left, at.core())
    }

    /// Prepares for another round: all open calls end before the next execution.
    pub fn begin_again(&mut self) {
        self.threads.iter_mut().for_each(PlacedThread::begin_again);
    }
}
