//! The order in which a replay plays the runs of all threads, and the precision of that order.
//!
//! Opening a trace reads each thread's runs separately. Here they are merged, one chunk per thread
//! at a time, so memory is bounded by the number of threads. If every step of the merge increases
//! the stamp, there is exactly one order, and it contains each thread's own order. Rejected:
//! sorting all runs, which takes memory for the whole trace and hides violations.

use crate::codec::template::Templates;
use crate::format::chunk::{Chunk, ChunkOrder, Decoder};
use crate::format::rule::{Rule, Violation};
use crate::model::ids::ThreadId;
use crate::read::contents::{ChunkLocation, Contents};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Properties of the order of a trace, if the order exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderSummary {
    /// Threads that have run.
    pub threads: u32,
    /// Number of their runs, all in the order.
    pub runs: u64,
    /// Executions in those runs.
    pub executions: u64,
    /// How often the order switches from one thread to another.
    pub switches: u64,
    /// Accesses of the median run, including fetches; 0 if there is none.
    pub median_run_accesses: u64,
    /// Accesses of the largest run: the order relative to concurrent runs of other threads is not
    /// recorded.
    pub largest_run_accesses: u64,
}

impl OrderSummary {
    /// Adds the lengths of the runs.
    pub(super) fn with(self, lengths: RunLengths) -> OrderSummary {
        let (median_run_accesses, largest_run_accesses) = lengths.median_and_largest();
        OrderSummary {
            median_run_accesses,
            largest_run_accesses,
            ..self
        }
    }
}

/// One thread's place in a merge.
struct Cursor {
    /// Its next chunk.
    chunk: usize,
    /// Its next run in the chunk before that.
    run: usize,
    chunk_order: ChunkOrder,
}

/// Merges the threads' runs; `contents` has their places in the file.
///
/// # Errors
/// If two threads have the same stamp, or a thread's stamps descend: the chunk and the violation.
pub fn merge(
    file: &[u8],
    contents: &Contents,
    decoder: &mut Decoder,
) -> Result<OrderSummary, (ChunkLocation, Violation)> {
    let mut order = OrderSummary::default();
    let mut cursors = Vec::new();
    let mut waiting = BinaryHeap::new();
    for thread in 0..contents.streams.len() {
        let mut cursor = Cursor {
            chunk: 0,
            run: 0,
            chunk_order: ChunkOrder::default(),
        };
        let first = cursor.next_stamp(thread, (file, contents), decoder)?;
        order.threads += u32::from(first.is_some());
        waiting.extend(first.map(|stamp| Reverse((stamp, thread))));
        cursors.push(cursor);
    }
    let mut last: Option<(u64, usize)> = None;
    while let Some(Reverse((stamp, thread))) = waiting.pop() {
        let cursor = &mut cursors[thread];
        // A run may continue in the thread's next chunk.
        let goes_on = last == Some((stamp, thread)) && cursor.run == 0;
        if let Some((before, other)) = last.filter(|&(before, _)| !goes_on && before >= stamp) {
            let detail = match before == stamp && other != thread {
                true => format!("threads {other} and {thread} both have a run of stamp {stamp}"),
                false => format!("thread {thread} has a run of stamp {stamp} after {before}"),
            };
            let place = contents.streams[thread].chunks[cursor.chunk - 1];
            return Err((place, Rule::Order.broken(detail)));
        }
        order.runs += u64::from(!goes_on);
        order.switches += u64::from(last.is_some_and(|(_, other)| other != thread));
        order.executions += u64::from(cursor.chunk_order.runs[cursor.run].executions);
        last = Some((stamp, thread));
        cursor.run += 1;
        let next = cursor.next_stamp(thread, (file, contents), decoder)?;
        waiting.extend(next.map(|stamp| Reverse((stamp, thread))));
    }
    Ok(order)
}

impl Cursor {
    /// Returns the stamp of the thread's next run, and reads its chunk if necessary.
    fn next_stamp(
        &mut self,
        thread: usize,
        (file, contents): (&[u8], &Contents),
        decoder: &mut Decoder,
    ) -> Result<Option<u64>, (ChunkLocation, Violation)> {
        loop {
            if let Some(run) = self.chunk_order.runs.get(self.run) {
                return Ok(Some(run.stamp));
            }
            let Some(&place) = contents.streams[thread].chunks.get(self.chunk) else {
                return Ok(None);
            };
            let read = contents.order(file, place, (decoder, &mut self.chunk_order));
            read.map_err(|violation| (place, violation))?;
            self.chunk += 1;
            self.run = 0;
        }
    }
}

/// Lengths of a trace's runs in accesses, collected chunk by chunk for each thread.
#[derive(Default)]
pub struct RunLengths {
    /// Number of runs by number of accesses; there are few distinct lengths.
    runs: BTreeMap<u64, u64>,
    /// The last run, which may continue in its thread's next chunk: thread, stamp and accesses.
    open: Option<(ThreadId, u64, u64)>,
}

impl RunLengths {
    /// Adds the runs of a decoded chunk.
    pub fn add(&mut self, chunk: &Chunk, templates: &Templates) {
        let size = |&place: &u16| {
            let template = chunk.templates[usize::from(place)];
            u64::from(templates.size(template).references())
        };
        let thread = chunk.order.thread;
        let (mut end, mut accesses_before) = (0, 0);
        for run in &chunk.order.runs {
            let executions = end as usize..(end + run.executions) as usize;
            end += run.executions;
            let accesses = match chunk.matches.is_empty() {
                true => chunk.places[executions].iter().map(size).sum(),
                false => chunk.bounds.references_before(end) - accesses_before,
            };
            accesses_before += accesses;
            match &mut self.open {
                Some((last, stamp, before)) if (*last, *stamp) == (thread, run.stamp) => {
                    *before += accesses;
                }
                _ => {
                    self.close();
                    self.open = Some((thread, run.stamp, accesses));
                }
            }
        }
    }

    fn close(&mut self) {
        if let Some((_, _, accesses)) = self.open.take() {
            *self.runs.entry(accesses).or_default() += 1;
        }
    }

    /// Returns the accesses of the median run and of the largest.
    pub fn median_and_largest(mut self) -> (u64, u64) {
        self.close();
        let total: u64 = self.runs.values().sum();
        let mut passed = 0;
        let median = self.runs.iter().find(|&(_, &runs)| {
            passed += runs;
            passed >= total.div_ceil(2)
        });
        let largest = self.runs.keys().next_back();
        let accesses = |found: Option<&u64>| found.copied().unwrap_or(0);
        (
            accesses(median.map(|(accesses, _)| accesses)),
            accesses(largest),
        )
    }
}
