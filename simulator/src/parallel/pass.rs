//! One pass over a trace: reads chunks, and produces every set partition's references in replay
//! order.
//!
//! A few chunks at a time are decoded and reduced, each on a free host thread. Then their pieces
//! are ordered. Every set partition reads them separately, again on a free host thread, while the
//! next chunks are reduced. Set partitions are independent, so the result does not depend on the
//! number of host threads. Only these few chunks are in memory.

use super::order::{PlacedPiece, ReplayOrder};
use super::set_partition::SetPartition;
use crate::error::Error;
use crate::filters::trace_reduction::{ReducedChunk, Reducer};
use corehop_traces::{Calls, ChunkRef, Player, RequestId, Trace};
use std::sync::Mutex;

/// Parameters of a pass.
pub(crate) struct PassInput<'a> {
    pub trace: &'a Trace,
    /// Requests to read; `None` for everything.
    pub requests: Option<&'a [RequestId]>,
    /// For each function, whether threads may move at its entries.
    pub breaks: Vec<bool>,
    /// Calls at whose ends threads may also move.
    pub calls: Option<&'a Calls>,
    /// A power of two that divides the set count of every cache.
    pub set_partition_count: u64,
    /// Called with the number of executions read since the previous call.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// Executions reduced at a time for each host thread: one chunk of maximum size. More would only
/// use memory.
const EXECUTIONS_AT_A_TIME: usize = 1 << 20;

/// Pieces in replay order, and the chunks that hold them.
#[derive(Clone, Copy)]
pub(crate) struct PieceBatch<'a> {
    pub order: &'a ReplayOrder,
    pub placed: &'a [PlacedPiece],
}

/// Reads a trace batch by batch. For each batch it calls `sequential` first, then `parallel` for
/// every set partition with the result of `sequential`. `set_partitions` are all of them, in order.
pub(crate) fn read<S: Send, T: Sync>(
    reading: &PassInput<'_>,
    set_partitions: &mut [(SetPartition, S)],
    mut sequential: impl FnMut(PieceBatch<'_>) -> T,
    parallel: impl Fn(&T, PieceBatch<'_>, &mut SetPartition, &mut S) + Sync,
) -> Result<(), Error> {
    let chunks = reading.trace.chunks(reading.requests);
    let workshop = Workshop::new(reading);
    let mut order = ReplayOrder::default();
    let (mut now, mut rest) = split(&chunks);
    let mut reduced = work::<S>(&workshop, now, &mut [], |_| ())?;
    while !now.is_empty() {
        order.add(now.iter().copied().zip(reduced));
        let placed = order.place(rest.first());
        let batch = PieceBatch {
            order: &order,
            placed: &placed,
        };
        let common = sequential(batch);
        let read_on = |(set_partition, state): &mut (SetPartition, S)| {
            parallel(&common, batch, set_partition, state)
        };
        (now, rest) = split(rest);
        let next = work(&workshop, now, set_partitions, read_on);
        let staying = order.release(&mut workshop.rooms.lock().expect(UNPOISONED));
        set_partitions
            .iter_mut()
            .for_each(|(set_partition, _)| set_partition.release(&staying));
        reduced = next?;
    }
    Ok(())
}

/// Reduces some chunks, and lets set partitions read on. Chunks take longest and begin first, so
/// that all host threads finish at about the same time (Graham, 1969).
fn work<S: Send>(
    workshop: &Workshop<'_>,
    chunks: &[ChunkRef],
    set_partitions: &mut [(SetPartition, S)],
    read_on: impl Fn(&mut (SetPartition, S)) + Sync,
) -> Result<Vec<ReducedChunk>, Error> {
    let mut reduced: Vec<_> = chunks.iter().map(|_| Ok(ReducedChunk::default())).collect();
    rayon::scope_fifo(|scope| {
        for (chunk, reduced) in chunks.iter().zip(&mut reduced) {
            scope.spawn_fifo(|_| *reduced = workshop.reduce(*chunk));
        }
        for set_partition in set_partitions {
            scope.spawn_fifo(|_| read_on(set_partition));
        }
    });
    reduced.into_iter().collect()
}

/// Returns the chunks to reduce next, and the rest.
fn split(chunks: &[ChunkRef]) -> (&[ChunkRef], &[ChunkRef]) {
    let enough = EXECUTIONS_AT_A_TIME * rayon::current_num_threads();
    let mut executions = 0;
    let is_too_much = |chunk: &ChunkRef| {
        executions += chunk.executions as usize;
        executions > enough
    };
    let fit = chunks.iter().position(is_too_much).unwrap_or(chunks.len());
    chunks.split_at(fit.max(1).min(chunks.len()))
}

/// Why locking cannot fail: a panic in a thread that holds the lock ends the pass on all threads.
const UNPOISONED: &str = "no thread panics while it holds this lock";

/// Tools and buffers, each used by one host thread at a time.
struct Workshop<'a> {
    reading: &'a PassInput<'a>,
    tools: Mutex<Vec<(Player<'a>, Reducer)>>,
    rooms: Mutex<Vec<ReducedChunk>>,
}

impl<'a> Workshop<'a> {
    fn new(reading: &'a PassInput<'a>) -> Workshop<'a> {
        Workshop {
            reading,
            tools: Mutex::default(),
            rooms: Mutex::default(),
        }
    }

    fn reduce(&self, chunk: ChunkRef) -> Result<ReducedChunk, Error> {
        let reading = self.reading;
        let tools = self.tools.lock().expect(UNPOISONED).pop();
        let (mut player, mut reducer) = match tools {
            Some(tools) => tools,
            None => (
                Player::new(reading.trace, reading.requests, &reading.breaks)?
                    .following(reading.calls)
                    .stripped(reading.set_partition_count),
                Reducer::new(reading.set_partition_count),
            ),
        };
        let room = self.rooms.lock().expect(UNPOISONED).pop();
        reducer.begin(chunk.thread, room.unwrap_or_default());
        player.play(chunk, &mut reducer)?;
        let reduced = reducer.finish();
        self.tools.lock().expect(UNPOISONED).push((player, reducer));
        if let Some(tell) = reading.progress {
            tell(u64::from(chunk.executions));
        }
        Ok(reduced)
    }
}
