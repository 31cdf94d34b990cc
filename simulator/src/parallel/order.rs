//! Puts the pieces of all threads into the one order of a replay.
//!
//! Chunks are reduced in any order on any host thread, by ascending first stamp and some at a
//! time. A piece can take its place as soon as no chunk still to come can hold an earlier one, so
//! at most about a chunk a thread waits, however long the trace is.

use crate::filters::trace_reduction::{Piece, ReducedChunk};
use corehop_traces::{ChunkRef, ThreadId};

/// A piece that has its place: which of the waiting chunks holds it, and where in that chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedPiece {
    /// Index into [`ReplayOrder::chunks`].
    pub chunk: u32,
    /// Index into its pieces.
    pub piece: u32,
}

/// Chunks of which some pieces are not replayed yet.
#[derive(Default)]
pub(crate) struct ReplayOrder {
    waiting: Vec<Waiting>,
}

struct Waiting {
    thread: ThreadId,
    reduced: ReducedChunk,
    /// Pieces that have their place.
    placed: usize,
}

impl ReplayOrder {
    /// Adds chunks, by ascending first stamp and thread; a thread's chunks in its own order.
    pub fn add(&mut self, chunks: impl IntoIterator<Item = (ChunkRef, ReducedChunk)>) {
        let waiting = chunks.into_iter().map(|(chunk, reduced)| Waiting {
            thread: chunk.thread,
            reduced,
            placed: 0,
        });
        self.waiting.extend(waiting);
    }

    /// The pieces that come before anything in `next`, the first chunk still to come, in order.
    pub fn place(&mut self, next: Option<&ChunkRef>) -> Vec<PlacedPiece> {
        let horizon = next.map(|chunk| (chunk.first_stamp, chunk.thread));
        let mut ready = Vec::new();
        for (chunk, waiting) in self.waiting.iter_mut().enumerate() {
            let rest = &waiting.reduced.pieces[waiting.placed..];
            // A run that goes on in the thread's next chunk has that chunk's stamp.
            let is_ready = |stamp| horizon.is_none_or(|horizon| (stamp, waiting.thread) <= horizon);
            let count = rest.partition_point(|&(stamp, _)| is_ready(stamp));
            for (place, &(stamp, _)) in rest[..count].iter().enumerate() {
                let place = PlacedPiece {
                    chunk: chunk as u32,
                    piece: (waiting.placed + place) as u32,
                };
                ready.push((stamp, waiting.thread, place));
            }
            waiting.placed += count;
        }
        // Stable: within a run, pieces and chunks stay in the thread's order.
        ready.sort_by_key(|&(stamp, thread, _)| (stamp, thread));
        ready.into_iter().map(|(_, _, place)| place).collect()
    }

    /// The chunk of a place.
    pub fn chunk(&self, chunk: u32) -> &ReducedChunk {
        &self.waiting[chunk as usize].reduced
    }

    /// The piece at a place.
    pub fn piece(&self, placed: PlacedPiece) -> &Piece {
        &self.chunk(placed.chunk).pieces[placed.piece as usize].1
    }

    /// Number of chunks that wait.
    pub fn chunks(&self) -> usize {
        self.waiting.len()
    }

    /// Lets go of the chunks all of whose pieces have their place; gives their room back, and says
    /// of each chunk that waited whether it stays.
    pub fn release(&mut self, room: &mut Vec<ReducedChunk>) -> Vec<bool> {
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
