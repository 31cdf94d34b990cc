//! Puts the pieces of all threads into the one order of a replay.
//!
//! Blocks are reduced in any order on any host thread, by ascending first stamp and some at a
//! time. A piece can take its place as soon as no block still to come can hold an earlier one, so
//! at most about a block a thread waits, however long the trace is.

use crate::filters::trace_reduction::{Piece, ReducedBlock};
use corehop_traces::BlockRef;

/// A piece that has its place: which of the waiting blocks holds it, and where in that block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Index into [`Order::blocks`].
    pub block: u32,
    /// Index into its pieces.
    pub piece: u32,
}

/// Blocks of which some pieces are not replayed yet.
#[derive(Default)]
pub(crate) struct Order {
    waiting: Vec<Waiting>,
}

struct Waiting {
    thread: u32,
    reduced: ReducedBlock,
    /// Pieces that have their place.
    placed: usize,
}

impl Order {
    /// Adds blocks, by ascending first stamp and thread; a thread's blocks in its own order.
    pub fn add(&mut self, blocks: impl IntoIterator<Item = (BlockRef, ReducedBlock)>) {
        let waiting = blocks.into_iter().map(|(block, reduced)| Waiting {
            thread: block.thread,
            reduced,
            placed: 0,
        });
        self.waiting.extend(waiting);
    }

    /// The pieces that come before anything in `next`, the first block still to come, in order.
    pub fn place(&mut self, next: Option<&BlockRef>) -> Vec<Placed> {
        let horizon = next.map(|block| (block.first_stamp, block.thread));
        let mut ready = Vec::new();
        for (block, waiting) in self.waiting.iter_mut().enumerate() {
            let rest = &waiting.reduced.pieces[waiting.placed..];
            // A run that goes on in the thread's next block has that block's stamp.
            let is_ready = |stamp| horizon.is_none_or(|horizon| (stamp, waiting.thread) <= horizon);
            let count = rest.partition_point(|&(stamp, _)| is_ready(stamp));
            for (place, &(stamp, _)) in rest[..count].iter().enumerate() {
                let place = Placed {
                    block: block as u32,
                    piece: (waiting.placed + place) as u32,
                };
                ready.push((stamp, waiting.thread, place));
            }
            waiting.placed += count;
        }
        // Stable: within a run, pieces and blocks stay in the thread's order.
        ready.sort_by_key(|&(stamp, thread, _)| (stamp, thread));
        ready.into_iter().map(|(_, _, place)| place).collect()
    }

    /// The block of a place.
    pub fn block(&self, block: u32) -> &ReducedBlock {
        &self.waiting[block as usize].reduced
    }

    /// The piece at a place.
    pub fn piece(&self, placed: Placed) -> &Piece {
        &self.block(placed.block).pieces[placed.piece as usize].1
    }

    /// Number of blocks that wait.
    pub fn blocks(&self) -> usize {
        self.waiting.len()
    }

    /// Lets go of the blocks all of whose pieces have their place; gives their room back, and says
    /// of each block that waited whether it stays.
    pub fn release(&mut self, room: &mut Vec<ReducedBlock>) -> Vec<bool> {
        let stays = |waiting: &Waiting| waiting.placed < waiting.reduced.pieces.len();
        let staying = self.waiting.iter().map(stays).collect();
        let (kept, done) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(stays);
        self.waiting = kept;
        let done: Vec<Waiting> = done;
        room.extend(done.into_iter().map(|waiting| waiting.reduced));
        staying
    }
}
