//! Line references: accesses reduced to a line number and a kind, for code that only counts lines.
//!
//! A cache model needs no program counters or byte offsets, so a reference takes 8 bytes and an
//! access 24.

use crate::model::execution::Kind;
use crate::model::ids::{FunctionId, RequestId};

/// One line referenced by a fetch, a load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct LineReference(u64);

impl LineReference {
    /// Creates a reference from the line's number (`address / 64`) and the kind of access.
    #[inline(always)]
    pub fn new(line: u64, kind: Kind) -> LineReference {
        LineReference(line << 2 | kind as u64)
    }

    /// Returns the line's number: `address / 64`.
    #[inline(always)]
    pub fn line(self) -> u64 {
        self.0 >> 2
    }

    /// Returns both as one number: the line number times four, plus 0 for a fetch, 1 for a load, 2
    /// for a store.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns whether it changes no cache after a reference with these bits that was the previous
    /// one of its set partition: it is the same, or a load after a store to the line.
    #[inline(always)]
    pub fn repeats(self, last: u64) -> bool {
        // The bits of a load are one less than those of a store to the same line, and the load is
        // the only odd kind of the three.
        last.wrapping_sub(self.0) <= self.0 & 1
    }

    /// Returns whether it is a fetch, a load or a store.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::Fetch,
            1 => Kind::Load,
            _ => Kind::Store,
        }
    }
}

/// Consecutive executions of a run, all with the same request or with none.
#[derive(Clone, Copy, Debug)]
pub struct Played<'a> {
    /// The request, if there is one.
    pub request: Option<RequestId>,
    /// How many executions the thread made before these, selected or not.
    pub number: u64,
    /// Whether a call that the player follows has ended just before these.
    pub returned: bool,
    /// The function that the first execution enters, if it is one of the functions to break at. No
    /// other execution in this part enters such a function.
    pub entered: Option<FunctionId>,
    /// Number of executions; 0 if these are further references of the previous execution.
    pub executions: u32,
    /// The referenced lines in order; an access that spans lines references each.
    pub references: &'a [LineReference],
    /// Fetches, loads and stores of the executions. They include those passed later as further
    /// references, for which the counts are zero.
    pub counts: [u64; 3],
}

/// Receives the executions of a chunk, in order.
pub trait Listener {
    /// Begins a run of the chunk's thread: what is played until the next call has this stamp. Not
    /// called for a run without selected executions. Also not called if a run continues without any
    /// other thread's run in between.
    fn run(&mut self, stamp: u64);

    /// Receives the next executions of the current run.
    fn played(&mut self, played: Played<'_>);
}
