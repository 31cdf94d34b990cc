//! Finds where a signal handler ends; its beginning is known.
//!
//! The system interrupts a thread between two code blocks and saves its state and a return address
//! on a stack. It continues at a handler, without a call in the trace. The handler returns to a few
//! instructions of the C library, one code block, which request the system to restore the
//! interrupted state. The address of that return was stored by no call of the trace. So it is the
//! first return without any open call of the handler. A handler may instead jump to code that it
//! interrupted (`siglongjmp`). This is recognized when the thread returns from a call that was open
//! before.
//!
//! A handler may have its own stack, so return addresses do not show how calls are nested. Each
//! handler therefore gets its own list of open calls. A signal between a call and the called
//! function looks like a call of the handler, and is treated as one.

/// A thread's state when a handler began.
#[derive(Debug)]
pub struct Interrupted {
    /// Addresses of the return addresses of open calls, descending.
    pub open: Vec<u64>,
    /// How many of them were called before the last gap.
    pub before_gap: usize,
}

/// When a thread continues what was interrupted.
#[derive(Debug, PartialEq, Eq)]
pub enum Resumes {
    /// The handler continues.
    Not,
    /// After the next execution, which belongs to the C library.
    AfterNext,
    /// The handler has already jumped out.
    Now,
}

impl Interrupted {
    /// Determines what a handler's call, return or jump through `address` means; `open` contains
    /// the handler's open calls.
    pub fn resumes(&self, open: &[u64], address: u64, calls: bool) -> Resumes {
        let is_of = |open: &[u64]| open.binary_search_by(|own| address.cmp(own)).is_ok();
        match () {
            () if calls || is_of(open) => Resumes::Not,
            () if is_of(&self.open) => Resumes::Now,
            () if open.is_empty() => Resumes::AfterNext,
            () => Resumes::Not,
        }
    }
}
