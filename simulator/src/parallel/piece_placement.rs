//! Computes the core of each piece of a replay, and the counts that follow from it.
//!
//! Hops and the accesses of each core need no cache. They are counted here piece by piece; the
//! caches receive only the core of each piece.

use crate::filters::trace_reduction::Piece;
use crate::ids::CoreId;
use crate::threads::split::Split;
use crate::threads::thread_placement::ThreadPlacement;
use corehop_traces::{Calls, RequestId};

/// The positions of all threads under one split, updated piece by piece.
pub(crate) struct PiecePlacement<'a> {
    thread_placement: ThreadPlacement<'a>,
    /// The first counted request; `None` once counting has begun.
    waits_for: Option<RequestId>,
    /// Hops that ended on each core.
    pub hops: Vec<u64>,
    /// Lines referenced on each core, by kind.
    pub references: Vec<[u64; 3]>,
}

/// The cores of consecutive pieces.
#[derive(Debug)]
pub(crate) struct Cores {
    /// The core of each piece.
    pub cores: Vec<CoreId>,
    /// The piece at which counting begins, if it is one of them.
    pub first_counted: Option<usize>,
}

impl<'a> PiecePlacement<'a> {
    /// Creates a placement with every thread on its start core in `split`; `calls` are those that
    /// the split delegates. Counting begins with the request `first_counted`, or immediately if it
    /// is `None`.
    pub fn new(
        split: &'a Split,
        calls: Option<&'a Calls>,
        first_counted: Option<RequestId>,
    ) -> PiecePlacement<'a> {
        let cores = split.cores() as usize;
        PiecePlacement {
            thread_placement: ThreadPlacement::new(split, calls),
            waits_for: first_counted,
            hops: vec![0; cores],
            references: vec![[0; 3]; cores],
        }
    }

    /// Places the next pieces.
    pub fn place<'p>(&mut self, pieces: impl Iterator<Item = &'p Piece>) -> Cores {
        let mut placed = Cores {
            cores: Vec::with_capacity(pieces.size_hint().0),
            first_counted: None,
        };
        for (index, piece) in pieces.enumerate() {
            if self.waits_for.is_some() && piece.request >= self.waits_for {
                self.start_counting();
                placed.first_counted = Some(index);
            }
            let (left, core) =
                self.thread_placement
                    .come(piece.thread, piece.number, piece.entered);
            self.hops[core.index()] += u64::from(left != core);
            for (sum, references) in self.references[core.index()]
                .iter_mut()
                .zip(piece.references)
            {
                *sum += references;
            }
            placed.cores.push(core);
        }
        placed
    }

    /// Prepares for placing the same pieces again, without moving a thread.
    pub fn begin_again(&mut self) {
        self.thread_placement.begin_again();
    }

    /// Resets all counts and begins counting.
    pub fn start_counting(&mut self) {
        self.waits_for = None;
        self.hops.fill(0);
        self.references.fill([0; 3]);
    }

    /// Returns whether counting has begun.
    pub fn is_counting(&self) -> bool {
        self.waits_for.is_none()
    }
}
