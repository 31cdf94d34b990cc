//! One pass over a trace: blocks in, every shard's touches in replay order out.
//!
//! Some blocks at a time are decoded and condensed, each by whichever host thread is free; then
//! their pieces are put in order, and then every shard reads on by itself, again on whichever host
//! thread is free. What a shard does never depends on another, so neither does the result on the
//! number of host threads. No more than these few blocks are in memory.

use super::condense::{Condensed, Condenser};
use super::order::{Order, Placed};
use super::shard::Shard;
use crate::Error;
use corehop_traces::{BlockRef, Player, Trace};
use rayon::prelude::*;
use std::sync::Mutex;

/// What to read of a trace, and how.
pub(crate) struct Reading<'a> {
    pub trace: &'a Trace,
    /// Requests wanted; `None` for everything.
    pub requests: Option<&'a [u32]>,
    /// By function: whether threads may be moved at its entries.
    pub breaks: Vec<bool>,
    /// A power of two that divides the set count of every cache.
    pub residues: u64,
    /// Told how many executions were read since it was last told.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// Blocks condensed at a time: enough to keep some host threads busy, and few enough that their
/// touches are still in the host's cache when the shards read them.
const BLOCKS_AT_A_TIME: usize = 16;

/// Pieces that have their place in the replay, by the blocks that hold them.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub order: &'a Order,
    pub placed: &'a [Placed],
}

/// Reads a trace batch by batch: `sequential` hears of each batch first, then `parallel` for every
/// shard, with what `sequential` gave. `shards` has one shard a residue.
pub(crate) fn read<S: Send, T: Sync>(
    reading: &Reading<'_>,
    shards: &mut [(Shard, S)],
    mut sequential: impl FnMut(Batch<'_>) -> T,
    parallel: impl Fn(&T, Batch<'_>, &mut Shard, &mut S) + Sync,
) -> Result<(), Error> {
    let blocks = reading.trace.blocks(reading.requests);
    let workshop = Workshop::new(reading);
    let mut order = Order::default();
    let mut rest = &blocks[..];
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(BLOCKS_AT_A_TIME));
        rest = later;
        let condensed: Result<Vec<_>, Error> = now
            .par_iter()
            .with_max_len(1)
            .map(|block| Ok((*block, workshop.condense(*block)?)))
            .collect();
        order.add(condensed?);
        let placed = order.place(rest.first());
        let batch = Batch {
            order: &order,
            placed: &placed,
        };
        let common = sequential(batch);
        shards
            .par_iter_mut()
            .with_max_len(1)
            .for_each(|(shard, state)| parallel(&common, batch, shard, state));
        let staying = order.release(&mut workshop.rooms.lock().expect(UNPOISONED));
        shards
            .iter_mut()
            .for_each(|(shard, _)| shard.release(&staying));
    }
    Ok(())
}

/// Why a lock can be taken: a panic while it is held ends the pass on all threads.
const UNPOISONED: &str = "no thread panics while it holds this lock";

/// Players and buffers, each used by one host thread at a time.
struct Workshop<'a> {
    reading: &'a Reading<'a>,
    players: Mutex<Vec<Player<'a>>>,
    rooms: Mutex<Vec<Condensed>>,
}

impl<'a> Workshop<'a> {
    fn new(reading: &'a Reading<'a>) -> Workshop<'a> {
        Workshop {
            reading,
            players: Mutex::default(),
            rooms: Mutex::default(),
        }
    }

    fn condense(&self, block: BlockRef) -> Result<Condensed, Error> {
        let Reading {
            trace,
            requests,
            breaks,
            residues,
            progress,
        } = self.reading;
        let player = self.players.lock().expect(UNPOISONED).pop();
        let mut player = match player {
            Some(player) => player,
            None => Player::new(trace, *requests, breaks)?,
        };
        let room = self.rooms.lock().expect(UNPOISONED).pop();
        let mut condenser = Condenser::new(block.thread, *residues, room.unwrap_or_default());
        player.play(block, &mut condenser)?;
        self.players.lock().expect(UNPOISONED).push(player);
        let condensed = condenser.finish();
        if let Some(tell) = progress {
            tell(condensed.executions);
        }
        Ok(condensed)
    }
}
