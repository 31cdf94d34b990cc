//! Line references: accesses reduced to a line number and a kind, for whoever counts lines only.
//!
//! A cache sees no program counters and no bytes, so 8 bytes a reference do where an access takes
//! 24.

use crate::model::execution::Kind;
use crate::model::ids::{FunctionId, RequestId};

/// One line referenced by a fetch, a load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct LineReference(u64);

impl LineReference {
    /// The line's number (`address / 64`), and by what it is referenced.
    #[inline(always)]
    pub fn new(line: u64, kind: Kind) -> LineReference {
        LineReference(line << 2 | kind as u64)
    }

    /// The line's number: `address / 64`.
    #[inline(always)]
    pub fn line(self) -> u64 {
        self.0 >> 2
    }

    /// Both as one number: the line's, times four, plus 0 for a fetch, 1 for a load, 2 for a store.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Fetch, load or store.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        match self.0 & 3 {
            0 => Kind::Fetch,
            1 => Kind::Load,
            _ => Kind::Store,
        }
    }
}

/// Some executions of a run, all of one request of the thread or of none.
#[derive(Clone, Copy, Debug)]
pub struct Played<'a> {
    /// The request.
    pub request: Option<RequestId>,
    /// How many executions the thread made before these, wanted or not.
    pub number: u64,
    /// Whether a call that the player was asked to follow has ended just before these.
    pub returned: bool,
    /// The function that the first of the executions enters, if it is one of those that the player
    /// was asked to break at; no other of them enters such a function.
    pub entered: Option<FunctionId>,
    /// How many; 0 when these are further references of the last execution before.
    pub executions: u32,
    /// The lines that they reference, one after the other: an access that spans lines references
    /// each.
    pub references: &'a [LineReference],
    /// How many fetches, loads and stores the executions make, those told as further references
    /// included, which themselves have zeros here.
    pub counts: [u64; 3],
}

/// Hears the executions of a chunk, in order.
pub trait Listener {
    /// A run of the chunk's thread begins: what is played until the next call has this stamp. Not
    /// called for a run of which nothing is wanted, nor for one that goes on where another ended
    /// without any other thread's run between them.
    fn run(&mut self, stamp: u64);

    /// The next executions of the current run.
    fn played(&mut self, played: Played<'_>);
}
