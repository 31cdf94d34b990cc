//! Which core each thread is on, under one split.
//!
//! A thread moves when it makes its next execution. If a call that the split delegates has ended
//! before it, the thread goes back to the core that it came from. If the execution enters a
//! function of the split, the thread then goes to that function's core. Both together count as one
//! move, and as none if the thread ends up where it was.
//!
//! While a delegated call is open, other functions may move the thread; the call's end takes it to
//! where it was when the call began. A function that calls itself, or jumps to another, opens a
//! call at each entry, and they end from the inside out.
//!
//! In a signal handler no call begins. So a delegated function leaves the thread there where it is,
//! as it does in a patched server; one that is not delegated moves it.
//!
//! Calls end where they end in the trace, wherever requests begin and whichever of them are
//! replayed: a call that ends in what is not replayed has ended when the thread comes next. One
//! that the trace does not see end stays open.

use super::split::Split;
use crate::error::Error;
use corehop_traces::{Calls, Trace};

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
        if let Some(delegated) = delegated.get_mut(function as usize) {
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
    threads: Vec<Thread>,
}

struct Thread {
    core: u32,
    /// The innermost call last.
    open: Vec<Open>,
}

/// A delegated call.
struct Open {
    ends: Option<u64>,
    came_from: u32,
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
    pub fn core_of(&self, thread: u32) -> u32 {
        let known = self.threads.get(thread as usize);
        known.map_or_else(|| self.split.start_core(thread), |thread| thread.core)
    }

    /// A thread comes to its execution `number`, and enters a function with it or does not. The
    /// core it leaves and the one it runs on now, which may be the same.
    #[inline]
    pub fn come(&mut self, thread: u32, number: u64, entered: Option<u32>) -> (u32, u32) {
        let known = self.threads.len() as u32;
        let starts = (known..=thread).map(|thread| Thread {
            core: self.split.start_core(thread),
            open: Vec::new(),
        });
        self.threads.extend(starts);
        let at = &mut self.threads[thread as usize];
        let left = at.core;
        let has_ended = |open: &mut Open| open.ends.is_some_and(|end| end <= number);
        while let Some(ended) = at.open.pop_if(has_ended) {
            at.core = ended.came_from;
        }
        if let Some(function) = entered
            && let Some(core) = self.split.core_of(function)
        {
            if !self.split.delegates(function) {
                at.core = core;
            } else if let Some(call) = self.calls.and_then(|calls| calls.begun_by(thread, number)) {
                at.open.push(Open {
                    ends: call.ends,
                    came_from: at.core,
                });
                at.core = core;
            }
        }
        (left, at.core)
    }

    /// What was replayed begins anew: all open calls end before whatever comes next.
    pub fn begin_again(&mut self) {
        let open = self.threads.iter_mut().flat_map(|thread| &mut thread.open);
        open.for_each(|open| open.ends = Some(0));
    }
}
