//! Which core one thread is on, under one split.
//!
//! A thread moves when it makes its next execution. If a call that the split delegates has ended
//! before it, the thread goes back to the core that it came from. If the execution enters a
//! function of the split, the thread then goes to that function's core.
//!
//! While a delegated call is open, other functions may move the thread; the call's end takes it to
//! where it was when the call began. A function that calls itself, or jumps to another, opens a
//! call at each entry, and they end from the inside out.
//!
//! A function that goes by an argument takes the thread to the core of the object that this call is
//! about, and leaves it where it is if that is none or not known. Its call opens all the same.
//!
//! In a signal handler no call begins. So a delegated function leaves the thread there where it is,
//! as it does in a patched server; one that is not delegated moves it.

use super::split::Split;
use crate::ids::CoreId;
use corehop_traces::{FunctionId, ThreadId};

/// By what a thread came to the core that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameBy {
    /// The entry of a function.
    Entry(FunctionId),
    /// The end of a delegated call of this function.
    End(FunctionId),
}

/// A thread's core, and the delegated calls that take it back to others.
#[derive(Clone, Debug, Default)]
pub struct PlacedThread {
    core: CoreId,
    /// The innermost call last.
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
    /// A thread that starts on this core.
    pub fn on(core: CoreId) -> PlacedThread {
        PlacedThread {
            core,
            open: Vec::new(),
        }
    }

    /// The core that it is on.
    #[inline]
    pub fn core(&self) -> CoreId {
        self.core
    }

    /// It, `thread`, comes to its execution `number`, and enters a function with it or not. `call`
    /// finds the call that begins there, if one does: when it ends, as far as the trace says.
    /// By what the split says where the thread is to be from there on, if it says so; that may be
    /// where it is. Of several ends the last counts.
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

    /// What the thread did begins anew: all open calls end before whatever comes next.
    pub fn begin_again(&mut self) {
        self.open.iter_mut().for_each(|open| open.ends = Some(0));
    }
}
