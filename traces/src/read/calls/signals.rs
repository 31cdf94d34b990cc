//! Where a signal handler ends, of which it is known where it begins.
//!
//! The system interrupts a thread between two code blocks, puts what it was doing and a return
//! address on a stack, and has it go on where a handler begins; nothing in the trace has called
//! that. The handler returns to a few instructions of the C library, one code block, which ask the
//! system to go on with what was interrupted. No call of the trace has stored the address that it
//! returns by, so it is the first return with none of its own calls open. A handler may instead
//! jump out to a place that it interrupted (`siglongjmp`); that shows when the thread returns from
//! a call that was open before.
//!
//! A handler may have a stack of its own, so return addresses say nothing of which call is inside
//! which: it is given a list of open calls of its own. A signal that comes between a call and the
//! function called looks as if the handler had been called, and is taken for that.

/// What a thread was in when a handler began.
#[derive(Debug)]
pub struct Interrupted {
    /// Where the return addresses of open calls are, descending.
    pub open: Vec<u64>,
    /// How many of them were called before the last gap.
    pub before_gap: usize,
}

/// When a thread goes on with what was interrupted.
#[derive(Debug, PartialEq, Eq)]
pub enum Resumes {
    /// The handler goes on.
    Not,
    /// After the next execution, which is the C library's.
    AfterNext,
    /// The handler has jumped out before.
    Now,
}

impl Interrupted {
    /// What it means that a handler whose own calls `open` are open calls, or returns or jumps, by
    /// way of `address`.
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
