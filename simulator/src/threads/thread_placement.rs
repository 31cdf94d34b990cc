//! The threads of a replay, each with its core under one split; [`super::placed_thread`] has the
//! rules.
//!
//! A thread that comes back from a call and enters a function at once makes one move, and none if
//! it ends up where it was.
//!
//! Calls end where they end in the trace, wherever requests begin and whichever of them are
//! replayed: a call that ends in what is not replayed has ended when the thread comes next. One
//! that the trace does not see end stays open.

use super::placed_thread::PlacedThread;
use super::split::Split;
use crate::error::Error;
use crate::ids::CoreId;
use corehop_traces::{Calls, FunctionId, ThreadId, Trace};

/// Calls that these splits delegate, found in `trace`; `None` when they delegate none.
///
/// # Errors
/// [`Error::Trace`] for a trace that cannot be read.
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

/// Where the threads of a replay are.
pub(crate) struct ThreadPlacement<'a> {
    split: &'a Split,
    calls: Option<&'a Calls>,
    /// By thread; those beyond its end are where the split starts them.
    threads: Vec<PlacedThread>,
}

impl<'a> ThreadPlacement<'a> {
    /// Every thread where `split` starts it. `calls` must hold those that the split delegates.
    pub fn new(split: &'a Split, calls: Option<&'a Calls>) -> ThreadPlacement<'a> {
        ThreadPlacement {
            split,
            calls,
            threads: Vec::new(),
        }
    }

    /// The core that `thread` is on.
    pub fn core_of(&self, thread: ThreadId) -> CoreId {
        let known = self.threads.get(thread.index());
        known.map_or_else(|| self.split.start_core(thread), PlacedThread::core)
    }

    /// A thread comes to its execution `number`, and enters a function with it or does not. The
    /// core it leaves and the one it runs on now, which may be the same.
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

    /// What was replayed begins anew: all open calls end before whatever comes next.
    pub fn begin_again(&mut self) {
        self.threads.iter_mut().for_each(PlacedThread::begin_again);
    }
}
