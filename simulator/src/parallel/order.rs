//! Merges the pieces of all threads into replay order.
//!
//! Chunks are reduced on any host thread, a batch at a time, by ascending first stamp. A piece can
//! be placed as soon as no later chunk can contain an earlier piece. At most about one chunk per
//! thread therefore waits, independent of the trace length.

use crate::filters::trace_reduction::{Piece, ReducedChunk};
use corehop_traces::{ChunkRef, ThreadId};

/// A piece in replay order: the index of the waiting chunk and of the piece in that chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedPiece {
    /// Index into [`ReplayOrder::chunks`].
    pub chunk: u32,
    /// Index into its pieces.
    pub piece: u32,
}

/// Chunks with pieces that are not replayed yet.
#[derive(Default)]
pub(crate) struct ReplayOrder {
    waiting: Vec<Waiting>,
}

struct Waiting {
    thread: ThreadId,
    reduced: ReducedChunk,
    /// Number of pieces already placed.
    placed: usize,
}

impl ReplayOrder {
    /// Adds chunks by ascending first stamp and thread; each thread's chunks are in its own order.
    pub fn add(&mut self, chunks: impl IntoIterator<Item = (ChunkRef, ReducedChunk)>) {
        let waiting = chunks.into_iter().map(|(chunk, reduced)| Waiting {
            thread: chunk.thread,
            reduced,
            placed: 0,
        });
        self.waiting.extend(waiting);
    }

    /// Returns the pieces that precede everything in `next`, the next chunk of the trace, in order.
    pub fn place(&mut self, next: Option<&ChunkRef>) -> Vec<PlacedPiece> {
        let horizon = next.map(|chunk| (chunk.first_stamp, chunk.thread));
        let mut ready = Vec::new();
        for (chunk, waiting) in self.waiting.iter_mut().enumerate() {
            let rest = &waiting.reduced.pieces[waiting.placed..];
            // A run that continues in the thread's next chunk has that chunk's stamp.
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
        // The sort is stable: within a run, pieces and chunks stay in the thread's order.
        ready.sort_by_key(|&(stamp, thread, _)| (stamp, thread));
        ready.into_iter().map(|(_, _, place)| place).collect()
    }

    /// Returns the chunk at an index of [`PlacedPiece::chunk`].
    pub fn chunk(&self, chunk: u32) -> &ReducedChunk {
        &self.waiting[chunk as usize].reduced
    }

    /// Returns the piece of a place.
    pub fn piece(&self, placed: PlacedPiece) -> &Piece {
        &self.chunk(placed.chunk).pieces[placed.piece as usize].1
    }

    /// Returns the number of waiting chunks.
    pub fn chunks(&self) -> usize {
        self.waiting.len()
    }

    /// Releases the chunks whose pieces are all placed, and moves their buffers to `room`. For each
    /// chunk that waited, returns whether it stays.
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
